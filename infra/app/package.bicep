// Who may read and write the deployed package: an identity of its own, at that one container, and nobody else.
param identityName string
param storageName string
param containerName string
param location string
param tags object

@description('Storage Blob Data Contributor: to put a new package there and to read it.')
var blobContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'

@description('Not the app\'s identity: what the app does to its own data, it cannot do to its code.')
resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: identityName
  location: location
  tags: tags
}

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' existing = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' existing = {
  parent: blobs
  name: containerName
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(container.id, identityName, blobContributor)
  scope: container
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobContributor)
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

output identityId string = identity.id
output containerUrl string = '${account.properties.primaryEndpoints.blob}${containerName}'

// A storage account: of the app's data, or of the deployed package. Shared keys are off.
param name string
param location string
param tags object
@description('Containers that must be there before anybody writes to them; the host and the app make their own.')
param containers array
param redundancy string
param isPrivate bool
param keyVaultUri string
param keyName string
param keyIdentityId string

var hasOwnKey = !empty(keyName)

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  // checkov:skip=CKV_AZURE_35: denied with vnetEnabled; without, identities alone are let in, for shared keys are off
  // checkov:skip=CKV_AZURE_206: storageRedundancy chooses; how many copies, and where, is a matter of money and of law
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_${redundancy}'
  }
  identity: hasOwnKey ? {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${keyIdentityId}': {}
    }
  } : {
    type: 'None'
  }
  properties: {
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    encryption: {
      identity: hasOwnKey ? {
        userAssignedIdentity: keyIdentityId
      } : null
      keySource: hasOwnKey ? 'Microsoft.Keyvault' : 'Microsoft.Storage'
      keyvaultproperties: hasOwnKey ? {
        keyname: keyName
        keyvaulturi: keyVaultUri
      } : null
      requireInfrastructureEncryption: true
      services: {
        blob: {
          keyType: 'Account'
        }
        // Only an account that was made with it can have its own key for queues later.
        queue: {
          keyType: 'Account'
        }
        // Azure bills tables under the account's key at a rate of its own, so they have it where it is asked for.
        table: {
          keyType: hasOwnKey ? 'Account' : 'Service'
        }
      }
    }
    minimumTlsVersion: 'TLS1_2'
    networkAcls: {
      bypass: isPrivate ? 'None' : 'AzureServices'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    supportsHttpsTrafficOnly: true
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' = {
  parent: account
  name: 'default'
}

resource madeBefore 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' = [for container in containers: {
  parent: blobs
  name: container
  properties: {
    publicAccess: 'None'
  }
}]

output name string = account.name

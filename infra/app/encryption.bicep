// A key of your own for what is stored: its vault, the key, and the identity by which storage and Cosmos DB use it.
param vaultName string
param identityName string
param location string
param tags object

@description('Key Vault Crypto Service Encryption User: to wrap and unwrap with the key, and nothing else.')
var encryptionUser = 'e147488a-f6f5-4113-8e2d-b22465e65bf6'

@description('Not the app\'s identity: the app never touches the key.')
resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: identityName
  location: location
  tags: tags
}

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  name: vaultName
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    // Storage asks that a key cannot be lost: without it, all data is.
    enablePurgeProtection: true
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 90
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: 'Deny'
    }
    publicNetworkAccess: 'Disabled'
  }
}

resource key 'Microsoft.KeyVault/vaults/keys@2023-07-01' = {
  // checkov:skip=CKV_AZURE_112: a key in an HSM needs the premium vault; make both of this file's kinds premium for it
  parent: vault
  name: 'storage'
  properties: {
    kty: 'RSA'
    keySize: 3072
    keyOps: ['wrapKey', 'unwrapKey']
    rotationPolicy: {
      attributes: {
        expiryTime: 'P2Y'
      }
      lifetimeActions: [
        {
          action: {
            type: 'rotate'
          }
          trigger: {
            timeAfterCreate: 'P1Y'
          }
        }
      ]
    }
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(key.id, identityName, encryptionUser)
  scope: key
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', encryptionUser)
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

output vaultUri string = vault.properties.vaultUri
output keyName string = key.name
output keyUri string = key.properties.keyUri
output identityId string = identity.id

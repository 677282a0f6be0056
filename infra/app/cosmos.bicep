// A Cosmos DB account for the older part of long threads, by the request: one database, one container, no keys.
param name string
param location string
param tags object
@allowed(['LRS', 'ZRS', 'GRS', 'GZRS'])
param redundancy string
param zoneRedundant bool
param isPrivate bool
param keyUri string
param keyIdentityId string

var hasOwnKey = !empty(keyUri)

@description('Where copies of the last hours go, by what storageRedundancy says of all that is stored.')
var backupRedundancy = {
  LRS: 'Local'
  ZRS: 'Zone'
  GRS: 'Geo'
  GZRS: 'Geo'
}

resource account 'Microsoft.DocumentDB/databaseAccounts@2024-11-15' = {
  // checkov:skip=CKV_AZURE_99: denied with vnetEnabled; without, identities alone are let in, for keys are off
  // checkov:skip=CKV_AZURE_101: closed with vnetEnabled; without, identities alone are let in, for keys are off
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  identity: hasOwnKey ? {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${keyIdentityId}': {}
    }
  } : {
    type: 'None'
  }
  properties: {
    databaseAccountOfferType: 'Standard'
    capabilities: [
      {
        name: 'EnableServerless'
      }
    ]
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: zoneRedundant
      }
    ]
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    backupPolicy: {
      type: 'Periodic'
      periodicModeProperties: {
        // The shortest that there is: what was deleted is in the copies for as long.
        backupIntervalInMinutes: 240
        backupRetentionIntervalInHours: 8
        backupStorageRedundancy: backupRedundancy[redundancy]
      }
    }
    defaultIdentity: hasOwnKey ? 'UserAssignedIdentity=${keyIdentityId}' : null
    disableKeyBasedMetadataWriteAccess: true
    disableLocalAuth: true
    keyVaultKeyUri: hasOwnKey ? keyUri : null
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2024-11-15' = {
  parent: account
  name: 'agents'
  properties: {
    resource: {
      id: 'agents'
    }
  }
}

resource container 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-11-15' = {
  parent: database
  name: 'agent-archive'
  properties: {
    resource: {
      id: 'agent-archive'
      partitionKey: {
        kind: 'Hash'
        paths: ['/thread']
      }
    }
  }
}

output name string = account.name
output id string = account.id
output endpoint string = account.properties.documentEndpoint
output databaseName string = database.name

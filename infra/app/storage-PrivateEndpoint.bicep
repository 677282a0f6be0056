// The ways from the virtual network to the two storage accounts: an endpoint for each service that is used, and its DNS zone.
param storageName string
param packageStorageName string
param networkId string
param subnetId string
param location string
param tags object

@description('Durable Functions uses all three; archives and large contents are in blobs, the threads\' log is in tables.')
var services = ['blob', 'queue', 'table']

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource packageAccount 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: packageStorageName
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for service in services: {
  name: 'privatelink.${service}.${environment().suffixes.storage}'
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (service, number) in services: {
  parent: zones[number]
  name: '${storageName}-${service}'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: networkId
    }
  }
}]

resource endpoints 'Microsoft.Network/privateEndpoints@2024-01-01' = [for service in services: {
  name: 'pe-${storageName}-${service}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: service
        properties: {
          privateLinkServiceId: account.id
          groupIds: [service]
        }
      }
    ]
  }
}]

resource records 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-01-01' = [for (service, number) in services: {
  parent: endpoints[number]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: service
        properties: {
          privateDnsZoneId: zones[number].id
        }
      }
    ]
  }
}]

@description('The package is a blob, and its address is in the first of the zones.')
resource packageEndpoint 'Microsoft.Network/privateEndpoints@2024-01-01' = {
  name: 'pe-${packageStorageName}-blob'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: 'blob'
        properties: {
          privateLinkServiceId: packageAccount.id
          groupIds: ['blob']
        }
      }
    ]
  }
}

resource packageRecord 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-01-01' = {
  parent: packageEndpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: 'blob'
        properties: {
          privateDnsZoneId: zones[0].id
        }
      }
    ]
  }
}

// The ways from the virtual network to the storage account: an endpoint and a DNS zone for each of its services.
param storageName string
param networkId string
param subnetId string
param location string
param tags object

@description('Durable Functions uses all three; archives and large contents are in blobs, the threads\' log is in tables.')
var services = ['blob', 'queue', 'table']

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
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

// The way between the virtual network and one service: an endpoint, and the DNS zones in which its names are looked up.
param accountName string
param accountId string
param zoneNames array
param groupId string
param networkId string
param subnetId string
param location string
param tags object

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for zoneName in zoneNames: {
  name: zoneName
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (zoneName, number) in zoneNames: {
  parent: zones[number]
  name: accountName
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: networkId
    }
  }
}]

resource endpoint 'Microsoft.Network/privateEndpoints@2024-01-01' = {
  name: 'pe-${accountName}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: 'account'
        properties: {
          privateLinkServiceId: accountId
          groupIds: [groupId]
        }
      }
    ]
  }
}

resource record 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-01-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [for (zoneName, number) in zoneNames: {
      name: replace(zoneName, '.', '-')
      properties: {
        privateDnsZoneId: zones[number].id
      }
    }]
  }
}

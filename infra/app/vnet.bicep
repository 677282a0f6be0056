// The virtual network: one subnet that the app sends from, one for the endpoints of what it reaches.
param name string
param location string
param tags object

var range = '10.0.0.0/16'

resource network 'Microsoft.Network/virtualNetworks@2024-01-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [range]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.0.1.0/24'
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.0.2.0/24'
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

output id string = network.id
output appSubnetId string = network.properties.subnets[0].id
output endpointSubnetId string = network.properties.subnets[1].id
output range string = range

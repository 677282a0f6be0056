// The Flex Consumption plan: instances by demand, and virtual networks.
param name string
param location string
param tags object
param zoneRedundant bool

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  // checkov:skip=CKV_AZURE_225: zoneRedundant chooses; two instances of each group are then paid for all day
  name: name
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

output id string = plan.id

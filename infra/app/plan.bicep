// The Flex Consumption plan: instances by demand, and virtual networks.
param name string
param location string
param tags object

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  // checkov:skip=CKV_AZURE_225: zones cost always-ready instances in each; a choice for whoever runs the app
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
  }
}

output id string = plan.id

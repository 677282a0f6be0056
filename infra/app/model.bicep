// An Azure OpenAI account with one model, reached by identity: it has no keys.
param name string
param location string
param tags object
param modelName string
param modelVersion string
param capacity int
param residency string
param isPrivate bool

resource account 'Microsoft.CognitiveServices/accounts@2024-10-01' = {
  // checkov:skip=CKV_AZURE_238: the account calls nobody, so it needs no identity of its own
  // checkov:skip=CKV_AZURE_134: private with vnetEnabled; without, identities alone are let in, for keys are off
  name: name
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: {
    name: 'S0'
  }
  properties: {
    customSubDomainName: name
    disableLocalAuth: true
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource deployment 'Microsoft.CognitiveServices/accounts/deployments@2024-10-01' = {
  parent: account
  name: modelName
  sku: {
    name: residency
    capacity: capacity
  }
  properties: {
    model: {
      format: 'OpenAI'
      name: modelName
      version: empty(modelVersion) ? null : modelVersion
    }
  }
}

output name string = account.name
output id string = account.id
output endpoint string = account.properties.endpoint
output deploymentName string = deployment.name

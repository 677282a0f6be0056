// An account with models, reached by identity: it has no keys. With a project it is one of Microsoft Foundry's.
param name string
param location string
param tags object
param modelName string
param modelVersion string
param capacity int
@description('More models, each NAME or NAME=CAPACITY, with commas between them.')
param furtherModels string
param residency string
param hasProject bool
param isPrivate bool

var projectName = 'agents'
var further = empty(furtherModels) ? [] : split(furtherModels, ',')

resource account 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  // checkov:skip=CKV_AZURE_238: without a project the account calls nobody, so it needs no identity of its own
  // checkov:skip=CKV_AZURE_134: private with vnetEnabled; without, identities alone are let in, for keys are off
  name: name
  location: location
  tags: tags
  kind: hasProject ? 'AIServices' : 'OpenAI'
  sku: {
    name: 'S0'
  }
  identity: {
    type: hasProject ? 'SystemAssigned' : 'None'
  }
  properties: {
    allowProjectManagement: hasProject
    customSubDomainName: name
    disableLocalAuth: true
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

resource deployment 'Microsoft.CognitiveServices/accounts/deployments@2025-06-01' = {
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

// An account takes one change at a time.
@batchSize(1)
resource furtherDeployments 'Microsoft.CognitiveServices/accounts/deployments@2025-06-01' = [for model in further: {
  parent: account
  name: trim(split(model, '=')[0])
  sku: {
    name: residency
    capacity: contains(model, '=') ? int(split(model, '=')[1]) : capacity
  }
  properties: {
    model: {
      format: 'OpenAI'
      name: trim(split(model, '=')[0])
    }
  }
  dependsOn: [deployment]
}]

resource project 'Microsoft.CognitiveServices/accounts/projects@2025-06-01' = if (hasProject) {
  parent: account
  name: projectName
  location: location
  tags: tags
  identity: {
    type: 'SystemAssigned'
  }
  properties: {
    displayName: 'Agents'
    description: 'The models of the agents that run in the function app.'
  }
  dependsOn: [deployment, furtherDeployments]
}

output name string = account.name
output id string = account.id
@description('Where the models are asked by the protocol of Azure OpenAI, whichever kind the account is of.')
output endpoint string = hasProject ? account.properties.endpoints['OpenAI Language Model Instance API'] : account.properties.endpoint
output deploymentName string = deployment.name
output projectName string = hasProject ? projectName : ''
output projectEndpoint string = hasProject ? project!.properties.endpoints['AI Foundry API'] : ''

targetScope = 'subscription'

@minLength(1)
@maxLength(64)
@description('Names the deployment; azd asks for it. Resource names are derived from it.')
param environmentName string

@minLength(1)
@description('The Azure region of everything. It must offer the Flex Consumption plan.')
param location string

@description('The Azure OpenAI endpoint that the agents talk to; without one they talk to the offline model.')
param openAiEndpoint string = ''

@description('The name of the deployment at that endpoint.')
param openAiModel string = ''

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = { 'azd-env-name': environmentName }
var packageContainer = 'app-package'

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module identity 'app/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: tags
  }
}

module storage 'app/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    location: location
    tags: tags
    packageContainer: packageContainer
  }
}

module monitoring 'app/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    insightsName: 'appi-${token}'
    location: location
    tags: tags
  }
}

module roles 'app/roles.bicep' = {
  name: 'roles'
  scope: group
  params: {
    principalId: identity.outputs.principalId
    storageName: storage.outputs.name
    insightsName: monitoring.outputs.insightsName
  }
}

module functionApp 'app/function-app.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    storageName: storage.outputs.name
    packageContainer: packageContainer
    insightsName: monitoring.outputs.insightsName
    openAiEndpoint: openAiEndpoint
    openAiModel: openAiModel
  }
  dependsOn: [
    roles
  ]
}

output AZURE_LOCATION string = location
output AZURE_FUNCTION_NAME string = functionApp.outputs.name
output AGENTS_URL string = 'https://${functionApp.outputs.hostName}/api/agents'
output MCP_URL string = 'https://${functionApp.outputs.hostName}/runtime/webhooks/mcp'

// The whole deployment, by its parts: what there is, what each is given, and which of them are a choice.
targetScope = 'subscription'

@minLength(1)
@maxLength(64)
@description('Names the deployment; azd asks for it. Resource names are derived from it.')
param environmentName string

@minLength(1)
@description('The Azure region of everything but the model. It must offer the Flex Consumption plan.')
@metadata({ azd: { type: 'location' } })
param location string

@allowed(['storage', 'scheduler'])
@description('Where conversations and orchestrations are kept: in the storage account, or in a Durable Task Scheduler.')
param durableBackend string = 'storage'

@allowed(['storage', 'cosmos'])
@description('Where the older part of long threads is kept: in the storage account, or in a Cosmos DB account.')
param archiveBackend string = 'storage'

@allowed(['storage', 'search'])
@description('Where uploaded files are searched: in the storage account, or in an Azure AI Search service.')
param fileIndex string = 'storage'

@allowed(['LRS', 'ZRS', 'GRS', 'GZRS'])
@description('The copies of what is stored: in one data centre, over zones, or in the paired region too.')
param storageRedundancy string = 'LRS'

@description('Whether the app and Cosmos DB are spread over the zones of the region; storage needs ZRS or GZRS for it.')
param zoneRedundant bool = false

@description('The model to deploy with the app, unless one of your own is given below.')
param deployedModel string = 'gpt-5-mini'

@description('The version of the deployed model; empty: its default version.')
param deployedModelVersion string = ''

@minValue(1)
@description('The capacity of the deployed model, in thousands of tokens a minute.')
param deployedModelCapacity int = 50

@allowed(['Standard', 'DataZoneStandard', 'GlobalStandard'])
@description('Where prompts may be processed: in the model\'s region, in its data zone (EU or US), or anywhere.')
param modelResidency string = 'GlobalStandard'

@description('More OpenAI models to deploy beside it, each NAME or NAME=CAPACITY, with commas between them; empty: none.')
param furtherModels string = ''

@description('Whether the models belong to a project of Microsoft Foundry.')
param foundryProject bool = false

@description('The region of the deployed model; empty: that of everything else.')
param modelLocation string = ''

@description('An Azure OpenAI endpoint of your own; empty: none.')
param azureOpenAiEndpoint string = ''

@description('The name of the deployment at that endpoint.')
param azureOpenAiModel string = ''

@description('A server of your own that speaks the Chat Completions protocol; empty: none.')
param openAiBaseUrl string = ''

@description('The name of the model at that server, or at OpenAI.')
param openAiModel string = ''

@secure()
@description('The key of that server, or of OpenAI, or a reference to a Key Vault secret; empty: none.')
param openAiKey string = ''

@secure()
@description('The setting AGENT_LOG, such as rediss://:KEY@HOST:6380; empty: in the storage account.')
param threadLog string = ''

@secure()
@description('The setting AGENT_WEBHOOK_SECRET, whsec_..., or a reference to a Key Vault secret; empty: no webhooks.')
param webhookKey string = ''

@minValue(0)
@maxValue(20)
@description('Instances that are kept warm for each kind of trigger, HTTP and durable.')
param alwaysReadyInstances int = 0

@minValue(1)
@maxValue(1000)
@description('The most instances that the app may have.')
param maximumInstances int = 100

@description('Whether the app is in a virtual network, and what it uses of this deployment is reachable from there alone.')
param vnetEnabled bool = false

@description('With a virtual network: whether callers from outside reach the app itself.')
param publicApp bool = true

@description('Whether what is stored is encrypted with a key of your own, in a vault of this deployment.')
param customerManagedKey bool = false

@maxLength(4)
@description('Stands at the end of names that Azure keeps after a deletion: another number, another deployment.')
param deploymentNumber string = ''

@description('The object id of a developer or a group who may ask the deployed models and read logs; empty: nobody.')
param developerPrincipalId string = ''

@description('Who is written to when runs fail, wait or are lost, and when storage throttles; empty: nobody.')
param alertEmail string = ''

@minValue(1)
@description('What a month may cost, in the currency of the bill.')
param monthlyBudget int = 100

@description('The first day of the month in which the budget begins, 2027-01-01; empty: no budget.')
param budgetStart string = ''

var abbreviations = loadJsonContent('abbreviations.json')
var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = { 'azd-env-name': environmentName }
var packageContainer = 'app-package'
var usesScheduler = durableBackend == 'scheduler'
var isPublic = publicApp || !vnetEnabled
var usesCosmos = archiveBackend == 'cosmos'
var usesSearch = fileIndex == 'search'
// A reference to a vault of your own stays one; a key itself goes into the vault of this deployment.
var storesOpenAiKey = !empty(openAiKey) && !startsWith(openAiKey, '@Microsoft.KeyVault(')
var storesThreadLog = !empty(threadLog) && !startsWith(threadLog, '@Microsoft.KeyVault(')
var storesWebhookKey = !empty(webhookKey) && !startsWith(webhookKey, '@Microsoft.KeyVault(')
var hasSecrets = storesOpenAiKey || storesThreadLog || storesWebhookKey
var deploysModel = empty(azureOpenAiEndpoint) && empty(openAiBaseUrl) && empty(openAiKey)

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: '${abbreviations.resourceGroup}${environmentName}'
  location: location
  tags: tags
}

module identity 'app/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: '${abbreviations.managedIdentity}${token}'
    location: location
    tags: tags
  }
}

module encryption 'app/encryption.bicep' = if (customerManagedKey) {
  name: 'encryption'
  scope: group
  params: {
    vaultName: '${abbreviations.keyVault}${token}${deploymentNumber}'
    identityName: '${abbreviations.managedIdentity}storage-${token}'
    location: location
    tags: tags
  }
}

module network 'app/vnet.bicep' = if (vnetEnabled) {
  name: 'network'
  scope: group
  params: {
    name: '${abbreviations.virtualNetwork}${token}'
    location: location
    tags: tags
  }
}

module storage 'app/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: '${abbreviations.storageAccount}${token}'
    location: location
    tags: tags
    containers: []
    redundancy: storageRedundancy
    isPrivate: vnetEnabled
    keyVaultUri: customerManagedKey ? encryption!.outputs.vaultUri : ''
    keyName: customerManagedKey ? encryption!.outputs.keyName : ''
    keyIdentityId: customerManagedKey ? encryption!.outputs.identityId : ''
  }
}

module packageStorage 'app/storage.bicep' = {
  name: 'package-storage'
  scope: group
  params: {
    name: '${abbreviations.storageAccount}pkg${token}'
    location: location
    tags: tags
    containers: [packageContainer]
    redundancy: storageRedundancy
    isPrivate: vnetEnabled
    keyVaultUri: customerManagedKey ? encryption!.outputs.vaultUri : ''
    keyName: customerManagedKey ? encryption!.outputs.keyName : ''
    keyIdentityId: customerManagedKey ? encryption!.outputs.identityId : ''
  }
}

module package 'app/package.bicep' = {
  name: 'package'
  scope: group
  params: {
    identityName: '${abbreviations.managedIdentity}package-${token}'
    storageName: packageStorage.outputs.name
    containerName: packageContainer
    location: location
    tags: tags
  }
}

module storageEndpoints 'app/storage-PrivateEndpoint.bicep' = if (vnetEnabled) {
  name: 'storage-endpoints'
  scope: group
  params: {
    storageName: storage.outputs.name
    packageStorageName: packageStorage.outputs.name
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module scheduler 'app/scheduler.bicep' = if (usesScheduler) {
  name: 'scheduler'
  scope: group
  params: {
    name: '${abbreviations.scheduler}${token}'
    location: location
    tags: tags
    isPrivate: vnetEnabled
    networkRange: vnetEnabled ? network!.outputs.range : ''
  }
}

module schedulerEndpoint 'app/account-PrivateEndpoint.bicep' = if (usesScheduler && vnetEnabled) {
  name: 'scheduler-endpoint'
  scope: group
  params: {
    accountName: usesScheduler ? scheduler!.outputs.name : ''
    accountId: usesScheduler ? scheduler!.outputs.id : ''
    zoneNames: ['privatelink.durabletask.io']
    groupId: 'scheduler'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module cosmos 'app/cosmos.bicep' = if (usesCosmos) {
  name: 'cosmos'
  scope: group
  params: {
    name: '${abbreviations.cosmosAccount}${token}'
    location: location
    tags: tags
    redundancy: storageRedundancy
    zoneRedundant: zoneRedundant
    isPrivate: vnetEnabled
    keyUri: customerManagedKey ? encryption!.outputs.keyUri : ''
    keyIdentityId: customerManagedKey ? encryption!.outputs.identityId : ''
  }
}

module cosmosEndpoint 'app/account-PrivateEndpoint.bicep' = if (usesCosmos && vnetEnabled) {
  name: 'cosmos-endpoint'
  scope: group
  params: {
    accountName: usesCosmos ? cosmos!.outputs.name : ''
    accountId: usesCosmos ? cosmos!.outputs.id : ''
    zoneNames: ['privatelink.documents.azure.com']
    groupId: 'Sql'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module search 'app/search.bicep' = if (usesSearch) {
  name: 'search'
  scope: group
  params: {
    name: '${abbreviations.searchService}${token}'
    location: location
    tags: tags
    zoneRedundant: zoneRedundant
    isPrivate: vnetEnabled
  }
}

module searchEndpoint 'app/account-PrivateEndpoint.bicep' = if (usesSearch && vnetEnabled) {
  name: 'search-endpoint'
  scope: group
  params: {
    accountName: usesSearch ? search!.outputs.name : ''
    accountId: usesSearch ? search!.outputs.id : ''
    zoneNames: ['privatelink.search.windows.net']
    groupId: 'searchService'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module model 'app/model.bicep' = if (deploysModel) {
  name: 'model'
  scope: group
  params: {
    name: '${abbreviations.openAi}${token}${deploymentNumber}'
    location: empty(modelLocation) ? location : modelLocation
    tags: tags
    modelName: deployedModel
    modelVersion: deployedModelVersion
    capacity: deployedModelCapacity
    furtherModels: furtherModels
    residency: modelResidency
    hasProject: foundryProject
    isPrivate: vnetEnabled
  }
}

module modelEndpoint 'app/account-PrivateEndpoint.bicep' = if (deploysModel && vnetEnabled) {
  name: 'model-endpoint'
  scope: group
  params: {
    accountName: deploysModel ? model!.outputs.name : ''
    accountId: deploysModel ? model!.outputs.id : ''
    zoneNames: union(['privatelink.openai.azure.com'], foundryProject ? [
      'privatelink.cognitiveservices.azure.com'
      'privatelink.services.ai.azure.com'
    ] : [])
    groupId: 'account'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module monitoring 'app/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: '${abbreviations.logAnalyticsWorkspace}${token}'
    insightsName: '${abbreviations.applicationInsights}${token}'
    location: location
    tags: tags
    isPrivate: vnetEnabled
  }
}

module monitoringScope 'app/monitoring-scope.bicep' = if (vnetEnabled) {
  name: 'monitoring-scope'
  scope: group
  params: {
    name: '${abbreviations.privateLinkScope}${token}'
    workspaceName: monitoring.outputs.workspaceName
    insightsName: monitoring.outputs.insightsName
    tags: tags
  }
}

module monitoringEndpoint 'app/account-PrivateEndpoint.bicep' = if (vnetEnabled) {
  name: 'monitoring-endpoint'
  scope: group
  params: {
    accountName: vnetEnabled ? monitoringScope!.outputs.name : ''
    accountId: vnetEnabled ? monitoringScope!.outputs.id : ''
    zoneNames: [
      'privatelink.monitor.azure.com'
      'privatelink.oms.opinsights.azure.com'
      'privatelink.ods.opinsights.azure.com'
      'privatelink.agentsvc.azure-automation.net'
    ]
    groupId: 'azuremonitor'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module secrets 'app/secrets.bicep' = if (hasSecrets) {
  name: 'secrets'
  scope: group
  params: {
    name: '${abbreviations.keyVault}s${token}${deploymentNumber}'
    location: location
    tags: tags
    principalId: identity.outputs.principalId
    isPrivate: vnetEnabled
    hasOpenAiKey: storesOpenAiKey
    hasThreadLog: storesThreadLog
    hasWebhookKey: storesWebhookKey
    openAiKey: storesOpenAiKey ? openAiKey : ''
    threadLog: storesThreadLog ? threadLog : ''
    webhookKey: storesWebhookKey ? webhookKey : ''
  }
}

module secretsEndpoint 'app/account-PrivateEndpoint.bicep' = if (hasSecrets && vnetEnabled) {
  name: 'secrets-endpoint'
  scope: group
  params: {
    accountName: hasSecrets ? secrets!.outputs.name : ''
    accountId: hasSecrets ? secrets!.outputs.id : ''
    zoneNames: ['privatelink.vaultcore.azure.net']
    groupId: 'vault'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

module workbook 'app/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    insightsName: monitoring.outputs.insightsName
    location: location
    tags: tags
  }
}

module alerts 'app/alerts.bicep' = if (!empty(alertEmail)) {
  name: 'alerts'
  scope: group
  params: {
    groupName: '${abbreviations.actionGroup}${token}'
    location: location
    tags: tags
    email: alertEmail
    workspaceName: monitoring.outputs.workspaceName
    storageName: storage.outputs.name
  }
}

module budget 'app/budget.bicep' = if (!empty(alertEmail) && !empty(budgetStart)) {
  name: 'budget'
  scope: group
  params: {
    name: '${abbreviations.budget}${token}'
    amount: monthlyBudget
    start: budgetStart
    email: alertEmail
  }
}

module roles 'app/rbac.bicep' = {
  name: 'roles'
  scope: group
  params: {
    principalId: identity.outputs.principalId
    storageName: storage.outputs.name
    insightsName: monitoring.outputs.insightsName
    schedulerName: usesScheduler ? scheduler!.outputs.name : ''
    taskHubName: usesScheduler ? scheduler!.outputs.taskHubName : ''
    cosmosName: usesCosmos ? cosmos!.outputs.name : ''
    cosmosDatabaseName: usesCosmos ? cosmos!.outputs.databaseName : ''
    searchName: usesSearch ? search!.outputs.name : ''
    modelAccountName: deploysModel ? model!.outputs.name : ''
  }
}

module developer 'app/developer.bicep' = if (!empty(developerPrincipalId)) {
  name: 'developer'
  scope: group
  params: {
    principalId: developerPrincipalId
    workspaceName: monitoring.outputs.workspaceName
    modelAccountName: deploysModel ? model!.outputs.name : ''
    projectName: deploysModel ? model!.outputs.projectName : ''
  }
}

module plan 'app/plan.bicep' = {
  name: 'plan'
  scope: group
  params: {
    name: '${abbreviations.functionPlan}${token}'
    location: location
    tags: tags
    zoneRedundant: zoneRedundant
  }
}

module api 'app/api.bicep' = {
  name: 'api'
  scope: group
  params: {
    name: '${abbreviations.functionApp}${token}'
    location: location
    tags: tags
    planId: plan.outputs.id
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    storageName: storage.outputs.name
    packageUrl: package.outputs.containerUrl
    packageIdentityId: package.outputs.identityId
    insightsName: monitoring.outputs.insightsName
    schedulerEndpoint: usesScheduler ? scheduler!.outputs.endpoint : ''
    taskHubName: usesScheduler ? scheduler!.outputs.taskHubName : ''
    cosmosEndpoint: usesCosmos ? cosmos!.outputs.endpoint : ''
    searchEndpoint: usesSearch ? search!.outputs.endpoint : ''
    modelSettings: {
      AZURE_OPENAI_ENDPOINT: deploysModel ? model!.outputs.endpoint : azureOpenAiEndpoint
      AZURE_OPENAI_MODEL: deploysModel ? model!.outputs.deploymentName : azureOpenAiModel
      OPENAI_BASE_URL: openAiBaseUrl
      OPENAI_MODEL: openAiModel
    }
    openAiKey: storesOpenAiKey ? '' : openAiKey
    threadLog: storesThreadLog ? '' : threadLog
    webhookKey: storesWebhookKey ? '' : webhookKey
    secretSettings: hasSecrets ? secrets!.outputs.settings : {}
    subnetId: vnetEnabled ? network!.outputs.appSubnetId : ''
    isPublic: isPublic
    alwaysReadyInstances: alwaysReadyInstances
    maximumInstances: maximumInstances
  }
  dependsOn: [
    roles
    storageEndpoints
    schedulerEndpoint
    cosmosEndpoint
    searchEndpoint
    modelEndpoint
    monitoringEndpoint
    secretsEndpoint
  ]
}

module callersEntrance 'app/account-PrivateEndpoint.bicep' = if (vnetEnabled && !publicApp) {
  name: 'callers-entrance'
  scope: group
  params: {
    accountName: api.outputs.name
    accountId: api.outputs.id
    zoneNames: ['privatelink.azurewebsites.net']
    groupId: 'sites'
    networkId: vnetEnabled ? network!.outputs.id : ''
    subnetId: vnetEnabled ? network!.outputs.endpointSubnetId : ''
    location: location
    tags: tags
  }
}

output AZURE_LOCATION string = location
output AZURE_RESOURCE_GROUP string = group.name
output AZURE_FUNCTION_NAME string = api.outputs.name
output FOUNDRY_PROJECT_ENDPOINT string = deploysModel ? model!.outputs.projectEndpoint : ''
output BASE_URL string = 'https://${api.outputs.hostName}'
output MCP_URL string = 'https://${api.outputs.hostName}/runtime/webhooks/mcp'
output GET_FUNCTION_KEY string = 'az functionapp keys list -g ${group.name} -n ${api.outputs.name} --query functionKeys.default -o tsv'
output GET_MCP_KEY string = 'az functionapp keys list -g ${group.name} -n ${api.outputs.name} --query systemKeys.mcp_extension -o tsv'

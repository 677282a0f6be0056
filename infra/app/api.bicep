// The function app: its runtime, how it scales, and its settings. What it may do to others is in rbac.bicep.
param name string
param location string
param tags object
param planId string
param identityId string
param identityClientId string
param storageName string
param packageUrl string
param packageIdentityId string
param insightsName string
param schedulerEndpoint string
param taskHubName string
param cosmosEndpoint string
param searchEndpoint string
param modelSettings object
@secure()
param openAiKey string
@secure()
param threadLog string
@secure()
param webhookKey string
@secure()
@description('References to secrets of a vault, over the settings of the same names.')
param secretSettings object
param subnetId string
param isPublic bool
param alwaysReadyInstances int
param maximumInstances int

@description('The groups in which Flex Consumption scales: functions of different groups never share an instance.')
var scaleGroups = ['http', 'durable']
var alwaysReady = [for group in scaleGroups: {
  name: group
  instanceCount: alwaysReadyInstances
}]

@description('What the host, its storage and the Python worker need.')
var hostSettings = {
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
  AZURE_FUNCTIONS_ENVIRONMENT: 'Production'
  AzureWebJobsStorage__accountName: storage.name
  AzureWebJobsStorage__clientId: identityClientId
  AzureWebJobsStorage__credential: 'managedidentity'
  // The durable extension's own web server; host.json does not reach it (docs/reference/costs.md).
  'Logging__LogLevel__Microsoft.AspNetCore': 'Warning'
  PYTHON_ENABLE_INIT_INDEXING: '1'
  PYTHON_ISOLATE_WORKER_DEPENDENCIES: '1'
  PYTHON_THREADPOOL_THREAD_COUNT: '32'
}

@description('What the app itself reads; blank is absent.')
var appSettings = union(modelSettings, {
  AGENT_ARCHIVE: empty(cosmosEndpoint) ? '' : 'cosmos'
  AGENT_COSMOS: cosmosEndpoint
  AGENT_FILE_INDEX: searchEndpoint
  AGENT_LOG: threadLog
  AGENT_WEBHOOK_SECRET: webhookKey
  AZURE_CLIENT_ID: identityClientId
  OPENAI_API_KEY: openAiKey
})

@description('With a scheduler, these stand over host.json, which stays as it is.')
var schedulerSettings = empty(schedulerEndpoint) ? {} : {
  AzureFunctionsJobHost__extensions__durableTask__hubName: taskHubName
  AzureFunctionsJobHost__extensions__durableTask__storageProvider__connectionStringName: 'DURABLE_TASK_SCHEDULER_CONNECTION_STRING'
  AzureFunctionsJobHost__extensions__durableTask__storageProvider__type: 'azureManaged'
  DURABLE_TASK_SCHEDULER_CONNECTION_STRING: 'Endpoint=${schedulerEndpoint};Authentication=ManagedIdentity;ClientID=${identityClientId}'
}

resource storage 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource app 'Microsoft.Web/sites@2024-04-01' = {
  // checkov:skip=CKV_AZURE_222: callers are outside, unless publicApp says no; each route but health asks for a key
  // checkov:skip=CKV_AZURE_17: callers have keys, not certificates
  // checkov:skip=CKV_AZURE_212: instances come by demand; alwaysReadyInstances keeps some warm
  // checkov:skip=CKV_AZURE_213: this plan replaces instances by itself; GET /api/health/ready is there for monitors
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
      '${packageIdentityId}': {}
    }
  }
  properties: {
    serverFarmId: planId
    httpsOnly: true
    publicNetworkAccess: isPublic ? 'Enabled' : 'Disabled'
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: packageIdentityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.13'
      }
      scaleAndConcurrency: {
        alwaysReady: alwaysReadyInstances == 0 ? [] : alwaysReady
        instanceMemoryMB: 2048
        maximumInstanceCount: maximumInstances
        triggers: {
          http: {
            perInstanceConcurrency: 100
          }
        }
      }
    }
    siteConfig: {
      ftpsState: 'Disabled'
      http20Enabled: true
      minTlsVersion: '1.2'
    }
  }
}

@description('All settings of the app, written at once: what stands there otherwise is gone.')
resource settings 'Microsoft.Web/sites/config@2024-04-01' = {
  // These look for members of the config `web` in every config; this one holds names and values of settings.
  // checkov:skip=CKV_AZURE_13: settings, not `authsettings`; each route but health asks for a key
  // checkov:skip=CKV_AZURE_63: settings, not `logs`; requests are in Application Insights
  // checkov:skip=CKV_AZURE_65: settings, not `logs`
  // checkov:skip=CKV_AZURE_66: settings, not `logs`
  // checkov:skip=CKV_AZURE_80: settings, not `web`, and the app is of Python
  // checkov:skip=CKV_AZURE_88: settings, not `azurestorageaccounts`; the app has no file share
  // checkov:skip=CKV_AZURE_222: settings, not `web`; the app itself gives its reason above
  parent: app
  name: 'appsettings'
  properties: union(hostSettings, appSettings, schedulerSettings, secretSettings)
}

@description('Deployments come with an Entra token; user names and passwords are off.')
resource noPasswordOverFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource noPasswordOverScm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

output name string = app.name
output id string = app.id
output hostName string = app.properties.defaultHostName

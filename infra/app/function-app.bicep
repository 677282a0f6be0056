param name string
param planName string
param location string
param tags object
param identityId string
param identityClientId string
param storageName string
param packageContainer string
param insightsName string
param openAiEndpoint string
param openAiModel string

resource storage 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  name: planName
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

resource app 'Microsoft.Web/sites@2024-04-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'app' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}${packageContainer}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.12'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: 2048
        maximumInstanceCount: 100
      }
    }
  }
}

resource settings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: app
  name: 'appsettings'
  properties: {
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
    AZURE_CLIENT_ID: identityClientId
    AZURE_OPENAI_ENDPOINT: openAiEndpoint
    AZURE_OPENAI_MODEL: openAiModel
    AzureWebJobsStorage__accountName: storage.name
    AzureWebJobsStorage__clientId: identityClientId
    AzureWebJobsStorage__credential: 'managedidentity'
    PYTHON_ENABLE_INIT_INDEXING: '1'
  }
}

output name string = app.name
output hostName string = app.properties.defaultHostName

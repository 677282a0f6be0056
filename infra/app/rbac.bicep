// What the app's identity may do, service by service, and nothing besides.
param principalId string
param storageName string
param insightsName string
param schedulerName string
param taskHubName string
param cosmosName string
param cosmosDatabaseName string
param searchName string
param modelAccountName string

@description('On the account and not on containers: host and Durable Functions make their own. Owner is what the host asks for.')
var storageRoles = {
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

@description('Monitoring Metrics Publisher: to send telemetry.')
var metricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

@description('Durable Task Data Contributor: to start, run and read orchestrations and entities.')
var durableTaskContributor = '0ad04412-c4d5-4796-b79c-f76d14c8d402'

@description('Cosmos DB Built-in Data Contributor: to read and write items; a role of the account\'s own.')
var cosmosContributor = '00000000-0000-0000-0000-000000000002'

@description('To make the index of each embedding model, and to write and search documents in it.')
var searchRoles = {
  'Search Service Contributor': '7ca78c08-252a-4471-8644-bb5ff32d4ba0'
  'Search Index Data Contributor': '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
}

@description('Cognitive Services OpenAI User: to ask the models, not to change them.')
var openAiUser = '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'

resource storage 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource scheduler 'Microsoft.DurableTask/schedulers@2026-02-01' existing = if (!empty(schedulerName)) {
  name: empty(schedulerName) ? 'none' : schedulerName
}

resource taskHub 'Microsoft.DurableTask/schedulers/taskHubs@2026-02-01' existing = if (!empty(schedulerName)) {
  parent: scheduler
  name: empty(taskHubName) ? 'none' : taskHubName
}

resource cosmos 'Microsoft.DocumentDB/databaseAccounts@2024-11-15' existing = if (!empty(cosmosName)) {
  name: empty(cosmosName) ? 'none' : cosmosName
}

resource search 'Microsoft.Search/searchServices@2025-05-01' existing = if (!empty(searchName)) {
  name: empty(searchName) ? 'none' : searchName
}

resource modelAccount 'Microsoft.CognitiveServices/accounts@2025-06-01' existing = if (!empty(modelAccountName)) {
  name: empty(modelAccountName) ? 'none' : modelAccountName
}

resource toStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for role in items(storageRoles): {
  name: guid(storage.id, principalId, role.value)
  scope: storage
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.value)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}]

resource toInsights 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, principalId, metricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', metricsPublisher)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource toTaskHub 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(schedulerName)) {
  name: guid(taskHub.id, principalId, durableTaskContributor)
  scope: taskHub
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', durableTaskContributor)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource toCosmos 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-11-15' = if (!empty(cosmosName)) {
  parent: cosmos
  name: guid(cosmos.id, principalId, cosmosContributor)
  properties: {
    roleDefinitionId: '${cosmos.id}/sqlRoleDefinitions/${cosmosContributor}'
    principalId: principalId
    scope: '${cosmos.id}/dbs/${cosmosDatabaseName}'
  }
}

resource toSearch 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for role in items(empty(searchName) ? {} : searchRoles): {
  name: guid(search.id, principalId, role.value)
  scope: search
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.value)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}]

resource toModel 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(modelAccountName)) {
  name: guid(modelAccount.id, principalId, openAiUser)
  scope: modelAccount
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', openAiUser)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

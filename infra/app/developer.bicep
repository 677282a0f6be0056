// What a developer, or a group of them, may do: ask the deployed models, work in their project, and read logs. Not what users wrote.
param principalId string
param workspaceName string
param modelAccountName string
param projectName string

@description('Log Analytics Reader: to read logs and metrics.')
var logReader = '73c42c96-874c-492b-b04d-ab87d138a893'

@description('Cognitive Services OpenAI User: to ask the models, not to change them.')
var openAiUser = '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'

@description('Foundry User: to work in the project, not to say who else may.')
var foundryUser = '53ca6127-db72-4b80-b1b0-d745d6d5456d'

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource modelAccount 'Microsoft.CognitiveServices/accounts@2025-06-01' existing = if (!empty(modelAccountName)) {
  name: empty(modelAccountName) ? 'none' : modelAccountName
}

resource project 'Microsoft.CognitiveServices/accounts/projects@2025-06-01' existing = if (!empty(projectName)) {
  parent: modelAccount
  name: empty(projectName) ? 'none' : projectName
}

resource toLogs 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(workspace.id, principalId, logReader)
  scope: workspace
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', logReader)
    principalId: principalId
  }
}

resource toModel 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(modelAccountName)) {
  name: guid(modelAccount.id, principalId, openAiUser)
  scope: modelAccount
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', openAiUser)
    principalId: principalId
  }
}

resource toProject 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(projectName)) {
  name: guid(project.id, principalId, foundryUser)
  scope: project
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', foundryUser)
    principalId: principalId
  }
}

// A vault for what has no identity to sign in with: the key of a model's server, the address of a Redis server, the key
// that webhooks are signed with.
param name string
param location string
param tags object
param principalId string
param isPrivate bool
param hasOpenAiKey bool
param hasThreadLog bool
param hasWebhookKey bool
@secure()
param openAiKey string
@secure()
param threadLog string
@secure()
param webhookKey string

@description('Key Vault Secrets User: to read secrets, and nothing else.')
var secretsUser = '4633458b-17de-408a-b874-0445c86b69e6'

@description('In a virtual network by the private endpoint alone.')
var publicAccess = isPrivate ? 'Disabled' : 'Enabled'

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  // checkov:skip=CKV_AZURE_109: without a virtual network the app has no address that a rule could name
  // checkov:skip=CKV_AZURE_189: the same; in a virtual network the vault is closed
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    // A vault that is deleted keeps its name for these days; docs/reference/deployment.md says what DEPLOYMENT_NUMBER is for.
    enablePurgeProtection: true
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 7
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
    publicNetworkAccess: publicAccess
  }
}

resource openAiSecret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (hasOpenAiKey) {
  // checkov:skip=CKV_AZURE_41: whoever issued the key says when it ends
  // checkov:skip=CKV_AZURE_114: contentType is what Bicep calls it
  parent: vault
  name: 'openai-api-key'
  properties: {
    contentType: 'text/plain'
    value: openAiKey
  }
}

resource logSecret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (hasThreadLog) {
  // checkov:skip=CKV_AZURE_41: whoever issued the key says when it ends
  // checkov:skip=CKV_AZURE_114: contentType is what Bicep calls it
  parent: vault
  name: 'agent-log'
  properties: {
    contentType: 'text/plain'
    value: threadLog
  }
}

resource webhookSecret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = if (hasWebhookKey) {
  // checkov:skip=CKV_AZURE_41: receivers verify by the key for as long as they have no other
  // checkov:skip=CKV_AZURE_114: contentType is what Bicep calls it
  parent: vault
  name: 'agent-webhook-secret'
  properties: {
    contentType: 'text/plain'
    value: webhookKey
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(vault.id, principalId, secretsUser)
  scope: vault
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsUser)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

@description('Settings of the app: where it reads the secrets, not what they are.')
output settings object = union(
  hasOpenAiKey ? { OPENAI_API_KEY: '@Microsoft.KeyVault(SecretUri=${vault.properties.vaultUri}secrets/openai-api-key)' } : {},
  hasThreadLog ? { AGENT_LOG: '@Microsoft.KeyVault(SecretUri=${vault.properties.vaultUri}secrets/agent-log)' } : {},
  hasWebhookKey ? { AGENT_WEBHOOK_SECRET: '@Microsoft.KeyVault(SecretUri=${vault.properties.vaultUri}secrets/agent-webhook-secret)' } : {}
)
output name string = vault.name
output id string = vault.id

// Logs and metrics: Application Insights on a workspace of its own, written to by identity alone. People read them from anywhere.
param workspaceName string
param insightsName string
param location string
param tags object
param isPrivate bool

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    publicNetworkAccessForIngestion: isPrivate ? 'Disabled' : 'Enabled'
    retentionInDays: 30
    sku: {
      name: 'PerGB2018'
    }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: insightsName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    DisableLocalAuth: true
    WorkspaceResourceId: workspace.id
    publicNetworkAccessForIngestion: isPrivate ? 'Disabled' : 'Enabled'
  }
}

output insightsName string = insights.name
output workspaceName string = workspace.name

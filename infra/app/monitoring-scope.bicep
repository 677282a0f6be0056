// What of logs and metrics the virtual network's endpoint leads to: these two, and no others' from inside it.
param name string
param workspaceName string
param insightsName string
param tags object

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource linked 'Microsoft.Insights/privateLinkScopes@2021-07-01-preview' = {
  name: name
  location: 'global'
  tags: tags
  properties: {
    accessModeSettings: {
      ingestionAccessMode: 'PrivateOnly'
      queryAccessMode: 'Open'
    }
  }
}

resource linkedWorkspace 'Microsoft.Insights/privateLinkScopes/scopedResources@2021-07-01-preview' = {
  parent: linked
  name: 'workspace'
  properties: {
    linkedResourceId: workspace.id
  }
}

resource linkedInsights 'Microsoft.Insights/privateLinkScopes/scopedResources@2021-07-01-preview' = {
  parent: linked
  name: 'insights'
  properties: {
    linkedResourceId: insights.id
  }
}

output id string = linked.id
output name string = linked.name

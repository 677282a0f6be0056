// A page in the portal: how runs ended, how long they waited and worked, what they used.
param insightsName string
param location string
param tags object

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(insights.id, 'agents')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Runs of the agents'
    category: 'workbook'
    sourceId: insights.id
    serializedData: string(loadJsonContent('workbook.json'))
  }
}

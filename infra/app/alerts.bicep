// Who is written to when runs fail, wait or are lost, and when the storage account throttles.
param groupName string
param location string
param tags object
param email string
param workspaceName string
param storageName string

@description('The line that the app logs at the end of each run (docs/guides/observability.md).')
var ended = 'AppTraces | where Message startswith "Run " and Message contains "; attempts "'
var rules = [
  {
    name: 'runs-failed'
    description: 'More than 5 runs failed within 15 minutes.'
    severity: 2
    threshold: 5
    query: '${ended} | where not(Message contains ": completed; " or Message contains ": run_cancelled; " or Message contains ": run_superseded; " or Message contains ": run_rolled_back; ")'
  }
  {
    name: 'runs-lost'
    description: 'A run was given up: nobody could work on it in time, or each process that did ended.'
    severity: 1
    threshold: 0
    query: '${ended} | where Message contains ": run_lost; "'
  }
  {
    name: 'runs-wait'
    description: 'A run waited for more than a minute before somebody worked on it.'
    severity: 2
    threshold: 0
    query: '${ended} | where todouble(extract("waited ([0-9.]+) s", 1, Message)) > 60'
  }
  {
    name: 'messages-poison'
    description: 'Durable Functions took a message from its queues again and again, and nobody could work on it.'
    severity: 1
    threshold: 0
    query: 'AppTraces | where Message contains "is now considered poison"'
  }
]

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource storage 'Microsoft.Storage/storageAccounts@2023-05-01' existing = {
  name: storageName
}

resource group 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: groupName
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'agents'
    emailReceivers: [
      {
        name: 'operators'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource queries 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in rules: {
  name: rule.name
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: rule.name
    description: rule.description
    enabled: true
    severity: rule.severity
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    scopes: [workspace.id]
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: rule.threshold
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: [group.id]
    }
    autoMitigate: true
    // The table is there once the app has logged something.
    skipQueryValidation: true
  }
}]

resource throttled 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: 'storage-throttles'
  location: 'global'
  tags: tags
  properties: {
    description: 'The storage account refused more than 10 requests within 5 minutes because there were too many.'
    enabled: true
    severity: 2
    evaluationFrequency: 'PT5M'
    windowSize: 'PT5M'
    scopes: [storage.id]
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'throttled'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'Microsoft.Storage/storageAccounts'
          metricName: 'Transactions'
          dimensions: [
            {
              name: 'ResponseType'
              operator: 'Include'
              values: [
                'ServerBusyError'
                'ClientThrottlingError'
                'ClientAccountRequestThrottlingError'
                'ClientAccountBandwidthThrottlingError'
              ]
            }
          ]
          operator: 'GreaterThan'
          threshold: 10
          timeAggregation: 'Total'
        }
      ]
    }
    autoMitigate: true
    actions: [
      {
        actionGroupId: group.id
      }
    ]
  }
}

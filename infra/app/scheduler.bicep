// A Durable Task Scheduler with one task hub: the alternative to the storage account, which it spares the polling.
param name string
param location string
param tags object
param isPrivate bool
param networkRange string

resource scheduler 'Microsoft.DurableTask/schedulers@2026-02-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    // An empty list lets nobody in. Where it is open, identities alone are let in: the scheduler has no keys.
    ipAllowlist: isPrivate ? [networkRange] : ['0.0.0.0/0']
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    sku: {
      name: 'Consumption'
    }
  }
}

resource taskHub 'Microsoft.DurableTask/schedulers/taskHubs@2026-02-01' = {
  parent: scheduler
  name: 'agents'
}

output name string = scheduler.name
output id string = scheduler.id
output endpoint string = scheduler.properties.endpoint
output taskHubName string = taskHub.name

// A Durable Task Scheduler with one task hub: the alternative to the storage account, which it spares the polling.
param name string
param location string
param tags object

resource scheduler 'Microsoft.DurableTask/schedulers@2025-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    // An empty list lets nobody in. Identities decide who does what.
    ipAllowlist: ['0.0.0.0/0']
    sku: {
      name: 'Consumption'
    }
  }
}

resource taskHub 'Microsoft.DurableTask/schedulers/taskHubs@2025-11-01' = {
  parent: scheduler
  name: 'agents'
}

output name string = scheduler.name
output endpoint string = scheduler.properties.endpoint
output taskHubName string = taskHub.name

// An Azure AI Search service for the index of uploaded files, reached by identity: it has no keys that work.
param name string
param location string
param tags object
param zoneRedundant bool
param isPrivate bool

resource service 'Microsoft.Search/searchServices@2025-05-01' = {
  // checkov:skip=CKV_AZURE_208: two replicas are for zoneRedundant; an index that is away for a while loses nothing
  // checkov:skip=CKV_AZURE_209: the same, for searches
  name: name
  location: location
  tags: tags
  sku: {
    name: 'basic'
  }
  properties: {
    disableLocalAuth: true
    hostingMode: 'Default'
    partitionCount: 1
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    // Two replicas or more are put into several zones, where the region has them.
    replicaCount: zoneRedundant ? 3 : 1
    semanticSearch: 'disabled'
  }
}

output name string = service.name
output id string = service.id
output endpoint string = 'https://${service.name}.search.windows.net'

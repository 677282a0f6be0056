// Everything within the private network, under a key of yours.
using '../main.bicep'

param environmentName = 'closed'
param location = 'westeurope'
param durableBackend = 'scheduler'
param archiveBackend = 'cosmos'
param vnetEnabled = true
param publicApp = false
param customerManagedKey = true
param alertEmail = 'ops@example.com'
param budgetStart = '2026-01-01'

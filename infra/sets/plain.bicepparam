// What `azd up` makes without a choice.
using '../main.bicep'

param environmentName = 'plain'
param location = 'westeurope'

"""The pytest plugin of an app's own tests: its fixtures, the scripted model, and the kills of the app's process."""

"""What an app does beside the threads of its agents: a folder for each feature, whose `feature.py` is read first."""

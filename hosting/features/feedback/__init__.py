"""What people think of the answers of runs."""

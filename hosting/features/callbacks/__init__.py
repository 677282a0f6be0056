"""Code of the app's author that is called with the updates and the ends of runs."""

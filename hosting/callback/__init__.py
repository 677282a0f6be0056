"""Code of the app's author that hears what agents say and how runs end."""

"""The app that is measured; its function_app.py is copied into a folder of its own."""

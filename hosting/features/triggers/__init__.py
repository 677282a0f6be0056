"""Runs that functions of the user's own begin: `app.client`, and triggers whose deliveries are messages."""

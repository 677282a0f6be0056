"""The durable engine of the local host: orchestrations, activities and entities over one SQLite file."""

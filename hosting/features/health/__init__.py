"""Whether the app runs, whether it takes runs, and whether its instances share one store."""

"""What stores of every kind are made of: files of SQLite, the storage account, one thread that writes."""

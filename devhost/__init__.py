"""The local Functions host: runs any Python Functions app from its folder, for development and tests."""

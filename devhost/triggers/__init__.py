"""Queues and blobs of a storage account, and messages that are sent by hand: one file for each binding."""

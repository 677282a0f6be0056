"""Replies, streams and OpenAPI: the service over HTTP, free of any web framework."""

"""What callers send, parsed and checked at the border."""

"""The archive of threads: the older part of long conversations, in one of several stores."""

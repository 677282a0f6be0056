"""Where the pictures and files of threads are kept: the backends of `hosting.ports.AttachmentStore`."""

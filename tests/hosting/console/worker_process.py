"""A console worker as a process: `python -m tests.hosting.console.worker_process ADDRESS`, its stores where it runs."""

import sys
import threading

from tests.hosting.console.orchestrators import console_worker


def main() -> None:
    """Take work until the process is killed."""
    with console_worker(sys.argv[1]):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

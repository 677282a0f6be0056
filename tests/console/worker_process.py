"""A console worker as a process: `python -m tests.console.worker_process ADDRESS`, its stores in the current folder."""

import sys
import threading

from tests.console.orchestrators import console_worker


def main() -> None:
    """Take work until the process is killed."""
    with console_worker(sys.argv[1]):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

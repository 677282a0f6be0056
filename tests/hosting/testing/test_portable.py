"""What the plugin's own code may use of Python: what there is on each system that tests run on."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.running_host import ROOT

POSIX_ONLY = {
    *("fork", "forkpty", "getpgid", "killpg", "setpgid", "setsid", "wait3", "wait4", "waitpid", "mkfifo"),
    *("SIGKILL", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGHUP", "setitimer", "preexec_fn", "start_new_session"),
    *("fcntl", "grp", "pty", "pwd", "resource", "termios"),
}
FILES = sorted(
    [
        *(ROOT / "hosting" / "testing").glob("*.py"),
        ROOT / "devhost" / "threaded.py",
        ROOT / "devhost" / "moved_clock.py",
    ]
)


def names_in(path: Path) -> set[str]:
    """Return the names that a file reads of modules, imports, and gives to calls."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    imported = {alias.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    return attributes | named | imported


def test_the_plugin_kills_and_starts_processes_by_what_windows_has_too() -> None:
    """A name that is not everywhere is asked for by `getattr`, with what stands in its place."""
    assert {path.name: names_in(path) & POSIX_ONLY for path in FILES if names_in(path) & POSIX_ONLY} == {}

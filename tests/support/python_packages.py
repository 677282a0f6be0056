"""Python packages that a test needs and that ask for others than ours: in a folder of their own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from filelock import FileLock

from tests.support.running_host import ROOT

CHAT_CLIENT = ("agent-framework-ag-ui==1.7.0", "ag-ui-protocol==0.1.19", "sse-starlette==3.4.5")
"""agent-framework's AGUIChatClient, and the types of before 1.0 that it asks for."""

FOUNDRY_HOSTING = (
    "agent-framework-foundry-hosting==1.0.0b261022",
    "azure-ai-agentserver-core==2.3.0b2",
    "azure-ai-agentserver-responses==2.4.0b1",
    "azure-ai-agentserver-invocations==1.2.0",
)
"""What hosts an agent in a container of Foundry's."""

LANGGRAPHS_SERVER = (
    *("langgraph-api==0.16.7", "langgraph-runtime-inmem==0.36.7", "langgraph-sdk==0.4.14", "langgraph==1.2.24"),
    *(
        "langgraph-checkpoint==4.3.2",
        "langgraph-prebuilt==1.1.3",
        "langchain-core==1.8.3",
        "langchain-protocol==0.0.20",
    ),
    *("langsmith==0.15.1", "blockbuster==1.5.29", "cloudpickle==3.1.3", "croniter==7.0.0", "distro==1.9.0"),
    *("forbiddenfruit==0.1.4", "grpcio-health-checking==1.81.1", "jsonpatch==1.48", "jsonpointer==3.12"),
    *("jsonschema-rs==0.44.1", "orjson==3.13.0", "ormsgpack==1.13.1", "prometheus-client==0.26.0"),
    *("opentelemetry-exporter-http-transport==0.66b2", "opentelemetry-exporter-otlp-common==0.66b2"),
    *("opentelemetry-exporter-otlp-proto-common==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2"),
    *("opentelemetry-exporter-prometheus==0.66b2", "opentelemetry-proto==1.45.2", "requests-toolbelt==1.0.0"),
    *("structlog==25.5.0", "uuid-utils==0.19.0", "watchfiles==1.3.0", "websockets==17.4", "xxhash==4.1.0"),
    "zstandard==0.25.0",
)
"""LangGraph's Agent Server as `langgraph dev` has it, with LangGraph itself."""

GUARD_SECONDS = 60


def installed(cache: Path, *packages: str) -> Path:
    """Return a folder with these packages alone, each `name==version`, without what they ask for."""
    folder = cache / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    with FileLock(cache / "lock"):  # two processes may test at once
        if not (folder / "complete").exists():
            target = ("--quiet", "--no-deps", "--target", str(folder))
            subprocess.run([sys.executable, "-m", "uv", "pip", "install", *target, *packages], check=True)
            (folder / "complete").touch()
    return folder


async def printed_with(packages: Path, script: Path, *arguments: str) -> Any:
    """Return the JSON that a script prints in a process that has these packages too."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), *arguments),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), GUARD_SECONDS)
    assert process.returncode == 0, complained.decode()
    return json.loads(printed)

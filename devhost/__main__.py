"""Entry point of `python -m devhost`."""

from __future__ import annotations

import sys

from devhost.cli import main

sys.exit(main())

"""The graph of langgraph_js_peer.mjs on LangGraph.js' server: the process becomes Node, in a folder that has both."""

from __future__ import annotations

import os
import sys

from tests.support.node_packages import node

if __name__ == "__main__":
    os.execv(node(), [node(), "langgraph_js_peer.mjs", *sys.argv[1:]])

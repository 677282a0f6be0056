"""An evaluation of an agent: cases in a file, agent-framework's checks over the answers, and reports of the results."""

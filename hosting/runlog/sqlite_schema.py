"""The tables of the SQLite run log."""

from __future__ import annotations

from hosting.storage.sqlite_file import FileKind

RUN_LOG = FileKind(
    name="run log",
    setting="AGENT_RUN_LOG",
    schema="""
CREATE TABLE event (run_id TEXT NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL,
                    PRIMARY KEY (run_id, position)) WITHOUT ROWID;
CREATE TABLE run (run_id TEXT NOT NULL PRIMARY KEY, agent TEXT NOT NULL, thread_id TEXT NOT NULL, at REAL NOT NULL,
                  is_ended INTEGER NOT NULL DEFAULT 0, is_to_cancel INTEGER NOT NULL DEFAULT 0,
                  is_erased INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX run_by_thread ON run (agent, thread_id, at);
CREATE INDEX open_run ON run (agent, thread_id) WHERE NOT is_ended;
CREATE TABLE receipt (receipt TEXT NOT NULL PRIMARY KEY, run_id TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE deletion (agent TEXT NOT NULL, thread_id TEXT NOT NULL, id TEXT NOT NULL, digest TEXT,
                       PRIMARY KEY (agent, thread_id)) WITHOUT ROWID;
""",
    upgrades=(
        """
ALTER TABLE deletion ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deletion ADD COLUMN receipt TEXT;
""",
        "UPDATE receipt SET receipt = sha256(receipt)",
    ),
)

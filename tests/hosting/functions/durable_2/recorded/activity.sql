BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:05.546212Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"4f005f7d-9920-49a3-b270-ab57043b1ce5"},"EventType":0,"ParentInstance":null,"Name":"each","Version":null,"Input":"\"[]\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:05.14095Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:05.594704Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:05.594704Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(2,'activity','4f005f7d-9920-49a3-b270-ab57043b1ce5:0',NULL,0,'2026-01-01T00:00:05.600844',NULL,'{"name":"double","input":"1","task_id":0,"caller_id":"i","caller_execution_id":"4f005f7d-9920-49a3-b270-ab57043b1ce5"}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','each','4f005f7d-9920-49a3-b270-ab57043b1ce5','Running','"[]"',NULL,NULL,NULL,0,'2026-01-01T00:00:05.140950','2026-01-01T00:00:05.594704','39bcb966a63046e88c4ba6927ee0f3e6-1',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',2);
COMMIT;
PRAGMA user_version = 4;

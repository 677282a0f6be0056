BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.487085Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"189c5d7e-bd7a-4dbb-b299-ab488b0fae66"},"EventType":0,"ParentInstance":null,"Name":"each","Version":null,"Input":"\"[]\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.168668Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.525942Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.525942Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.564054Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":5,"TaskScheduledId":0,"Result":"2","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.553078Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":10,"FireAt":"2026-01-01T00:00:04.564054Z","EventId":1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.662804Z"}');
INSERT INTO "history" VALUES('i',7,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.662804Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(4,'orchestration','i','189c5d7e-bd7a-4dbb-b299-ab488b0fae66',0,'2026-01-01T00:00:03.667013','2026-01-01T00:00:04.564054','{"event":{"EventType":11,"TimerId":1,"FireAt":"2026-01-01T00:00:04.564054Z","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.662804Z"},"execution_id":"189c5d7e-bd7a-4dbb-b299-ab488b0fae66","carried":[]}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','each','189c5d7e-bd7a-4dbb-b299-ab488b0fae66','Running','"[]"',NULL,NULL,NULL,0,'2026-01-01T00:00:03.168668','2026-01-01T00:00:03.662804','39bcb966a63046e88c4ba6927ee0f3e6-31',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',4);
COMMIT;
PRAGMA user_version = 4;

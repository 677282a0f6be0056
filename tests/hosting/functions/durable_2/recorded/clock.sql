BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.551687Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"4c6c2053-a2d2-42e5-8b67-d9f9c90d0a73"},"EventType":0,"ParentInstance":null,"Name":"agents_schedule","Version":null,"Input":"\"{\\\"wake_at\\\": \\\"2026-01-01T00:00:01Z\\\", \\\"clock\\\": {\\\"agent\\\": \\\"Clerk\\\", \\\"owner\\\": \\\"\\\", \\\"schedule_id\\\": \\\"s\\\", \\\"generation\\\": 1, \\\"since\\\": 1767225600.0}}\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.429914Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":10,"FireAt":"2026-01-01T00:00:01Z","EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.74347Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.74347Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(2,'orchestration','i','4c6c2053-a2d2-42e5-8b67-d9f9c90d0a73',0,'2026-01-01T00:00:03.749379','2026-01-01T00:00:01.000000','{"event":{"EventType":11,"TimerId":0,"FireAt":"2026-01-01T00:00:01Z","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.74347Z"},"execution_id":"4c6c2053-a2d2-42e5-8b67-d9f9c90d0a73","carried":[]}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','agents_schedule','4c6c2053-a2d2-42e5-8b67-d9f9c90d0a73','Running','"{\"wake_at\": \"2026-01-01T00:00:01Z\", \"clock\": {\"agent\": \"Clerk\", \"owner\": \"\", \"schedule_id\": \"s\", \"generation\": 1, \"since\": 1767225600.0}}"',NULL,NULL,NULL,0,'2026-01-01T00:00:03.429914','2026-01-01T00:00:03.743470','a00e6b0a464b454fbdb1d24cb74dd539-1',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',2);
COMMIT;
PRAGMA user_version = 4;

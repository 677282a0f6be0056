BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', lock TEXT);
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.372621Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"0d56fcdd-3385-4312-a994-475d0e28d97b"},"EventType":0,"ParentInstance":null,"Name":"fetch","Version":null,"Input":"\"\\\"http://127.0.0.1:33611/\\\"\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.060414Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"BuiltIn::HttpActivity","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.419722Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.419722Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.178451Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":5,"TaskScheduledId":0,"Result":"{\"statusCode\":200,\"headers\":{\"Server\":\"BaseHTTP/0.6 Python/3.11.7\",\"Date\":\"Mon, 30 Nov 2026 14:19:43 GMT\"},\"content\":\"hello\"}","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.157962Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.265978Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','fetch','0d56fcdd-3385-4312-a994-475d0e28d97b','Running','"\"http://127.0.0.1:33611/\""',NULL,NULL,NULL,0,'2026-01-01T00:00:07.060414','2026-01-01T00:00:08.265978','9a83cfb453b3427fb00d76e1612cf516-10',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',3);
COMMIT;
PRAGMA user_version = 5;

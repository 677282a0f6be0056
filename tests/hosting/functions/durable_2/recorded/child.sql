BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.750235Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"b6131833-0ba3-44fe-8d88-286556fa850c"},"EventType":0,"ParentInstance":null,"Name":"each","Version":null,"Input":"\"[]\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.6485Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.803031Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.803031Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.838156Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":5,"TaskScheduledId":0,"Result":"2","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.828299Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":10,"FireAt":"2026-01-01T00:00:03.838156Z","EventId":1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.872283Z"}');
INSERT INTO "history" VALUES('i',7,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.872283Z"}');
INSERT INTO "history" VALUES('i',8,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.866434Z"}');
INSERT INTO "history" VALUES('i',9,'{"EventType":11,"TimerId":1,"FireAt":"2026-01-01T00:00:03.838156Z","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:02.872283Z"}');
INSERT INTO "history" VALUES('i',10,'{"EventType":7,"Name":"below","Version":null,"InstanceId":"b6131833-0ba3-44fe-8d88-286556fa850c:2","Input":null,"ClientSpanId":null,"Tags":null,"EventId":2,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.002382Z"}');
INSERT INTO "history" VALUES('i',11,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.002382Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(5,'orchestration','b6131833-0ba3-44fe-8d88-286556fa850c:2',NULL,1,'2026-01-01T00:00:04.007095',NULL,'{"event":{"OrchestrationInstance":{"InstanceId":"b6131833-0ba3-44fe-8d88-286556fa850c:2","ExecutionId":"4d2b1b8fe15d5592829ffef8ea108046"},"EventType":0,"ParentInstance":{"Name":"each","OrchestrationInstance":{"InstanceId":"i","ExecutionId":"b6131833-0ba3-44fe-8d88-286556fa850c"},"TaskScheduleId":2,"Version":null},"Name":"below","Version":null,"Input":"\"{\\\"durable-agents/parent\\\": \\\"ba873aba-1d19-57f1-8957-2ce14fd49cfe\\\", \\\"input\\\": {\\\"n\\\": 2}}\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":null,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.002382Z"},"execution_id":null,"carried":[]}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','each','b6131833-0ba3-44fe-8d88-286556fa850c','Running','"[]"',NULL,NULL,NULL,0,'2026-01-01T00:00:02.648500','2026-01-01T00:00:04.002382','39bcb966a63046e88c4ba6927ee0f3e6-59',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',5);
COMMIT;
PRAGMA user_version = 4;

BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', lock TEXT);
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:09.174414Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"55141569-11a3-4467-a51e-7b72885e91b5"},"EventType":0,"ParentInstance":null,"Name":"again","Version":null,"Input":"\"null\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.700753Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"flaky","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:09.411356Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:09.411356Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:10.693008Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":6,"TaskScheduledId":0,"Reason":"Activity function ''flaky'' failed: ValueError: not yet","Details":"ValueError: not yet","FailureDetails":null,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:09.727276Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":10,"FireAt":"2026-01-01T00:00:11.693008Z","EventId":1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:10.758877Z","RetryOf":0}');
INSERT INTO "history" VALUES('i',7,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:10.758877Z"}');
INSERT INTO "history" VALUES('i',8,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.715161Z"}');
INSERT INTO "history" VALUES('i',9,'{"EventType":11,"TimerId":1,"FireAt":"2026-01-01T00:00:11.693008Z","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:10.758877Z"}');
INSERT INTO "history" VALUES('i',10,'{"EventType":4,"Name":"flaky","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":2,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.768735Z","RetryOf":0}');
INSERT INTO "history" VALUES('i',11,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.768735Z"}');
INSERT INTO "history" VALUES('i',12,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.838098Z"}');
INSERT INTO "history" VALUES('i',13,'{"EventType":5,"TaskScheduledId":2,"Result":"7","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.815083Z"}');
INSERT INTO "history" VALUES('i',14,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:11.901621Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','again','55141569-11a3-4467-a51e-7b72885e91b5','Running','"null"',NULL,NULL,NULL,0,'2026-01-01T00:00:08.700753','2026-01-01T00:00:11.901621','9a83cfb453b3427fb00d76e1612cf516-6',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',6);
COMMIT;
PRAGMA user_version = 5;

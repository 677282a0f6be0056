BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', lock TEXT);
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.015642Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"5e95f123-2828-49a7-a76f-6856adba070a"},"EventType":0,"ParentInstance":null,"Name":"backwards","Version":null,"Input":"null","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.739622Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.203274Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":2,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.203274Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.203274Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.436022Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":5,"TaskScheduledId":1,"Result":"2","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.419754Z"}');
INSERT INTO "history" VALUES('i',7,'{"EventType":5,"TaskScheduledId":2,"Result":"4","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.421808Z"}');
INSERT INTO "history" VALUES('i',8,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:08.46314Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('i','backwards','5e95f123-2828-49a7-a76f-6856adba070a','Running','null',NULL,NULL,NULL,0,'2026-01-01T00:00:07.739622','2026-01-01T00:00:08.463140','1573c84ad2e74d5a83ffbd93e3d244ce-4',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',5);
COMMIT;
PRAGMA user_version = 5;

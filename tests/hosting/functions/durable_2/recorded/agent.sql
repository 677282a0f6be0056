BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('72fda6f9-746b-4c07-8b9b-1ef27036949d:2',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.425557Z"}');
INSERT INTO "history" VALUES('72fda6f9-746b-4c07-8b9b-1ef27036949d:2',1,'{"OrchestrationInstance":{"InstanceId":"72fda6f9-746b-4c07-8b9b-1ef27036949d:2","ExecutionId":"6954e79461295ac7aaf71354e094144f"},"EventType":0,"ParentInstance":{"Name":"each","OrchestrationInstance":{"InstanceId":"i","ExecutionId":"72fda6f9-746b-4c07-8b9b-1ef27036949d"},"TaskScheduleId":2,"Version":null},"Name":"below","Version":null,"Input":"\"{\\\"durable-agents/parent\\\": \\\"ccee10dc-fc4b-51db-8982-1d68d5161335\\\", \\\"input\\\": {\\\"n\\\": 2}}\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":null,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.333237Z"}');
INSERT INTO "history" VALUES('72fda6f9-746b-4c07-8b9b-1ef27036949d:2',2,'{"EventType":1,"OrchestrationStatus":1,"Result":"[{\"n\":2},\"16113bb2-5b43-5704-bf1e-e96ae0448fa0\"]","FailureDetails":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.513703Z"}');
INSERT INTO "history" VALUES('72fda6f9-746b-4c07-8b9b-1ef27036949d:2',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.513703Z"}');
INSERT INTO "history" VALUES('i',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.109555Z"}');
INSERT INTO "history" VALUES('i',1,'{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"72fda6f9-746b-4c07-8b9b-1ef27036949d"},"EventType":0,"ParentInstance":null,"Name":"each","Version":null,"Input":"\"[]\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":0,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.019366Z"}');
INSERT INTO "history" VALUES('i',2,'{"EventType":4,"Name":"double","Version":"","Input":null,"ParentTraceContext":null,"Tags":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.152182Z"}');
INSERT INTO "history" VALUES('i',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.152182Z"}');
INSERT INTO "history" VALUES('i',4,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.220713Z"}');
INSERT INTO "history" VALUES('i',5,'{"EventType":5,"TaskScheduledId":0,"Result":"2","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.209121Z"}');
INSERT INTO "history" VALUES('i',6,'{"EventType":10,"FireAt":"2026-01-01T00:00:04.220713Z","EventId":1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.291935Z"}');
INSERT INTO "history" VALUES('i',7,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.291935Z"}');
INSERT INTO "history" VALUES('i',8,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.256288Z"}');
INSERT INTO "history" VALUES('i',9,'{"EventType":11,"TimerId":1,"FireAt":"2026-01-01T00:00:04.220713Z","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:03.291935Z"}');
INSERT INTO "history" VALUES('i',10,'{"EventType":7,"Name":"below","Version":null,"InstanceId":"72fda6f9-746b-4c07-8b9b-1ef27036949d:2","Input":null,"ClientSpanId":null,"Tags":null,"EventId":2,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.333237Z"}');
INSERT INTO "history" VALUES('i',11,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.333237Z"}');
INSERT INTO "history" VALUES('i',12,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.536329Z"}');
INSERT INTO "history" VALUES('i',13,'{"EventType":8,"TaskScheduledId":2,"Result":"[{\"n\":2},\"16113bb2-5b43-5704-bf1e-e96ae0448fa0\"]","EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.513703Z"}');
INSERT INTO "history" VALUES('i',14,'{"EventType":14,"InstanceId":"@dafx-clerk@fb177ad93b9e592a905cd60880094040","Name":"op","Input":"{\"$type\":\"Microsoft.Azure.WebJobs.Extensions.DurableTask.RequestMessage, Microsoft.Azure.WebJobs.Extensions.DurableTask\",\"op\":\"run\",\"input\":\"\\\"{\\\\\\\"message\\\\\\\": \\\\\\\"call look a\\\\\\\", \\\\\\\"correlationId\\\\\\\": \\\\\\\"05a489bfea7d527f83be445cb0e0812e\\\\\\\", \\\\\\\"orchestrationId\\\\\\\": \\\\\\\"i\\\\\\\"}\\\"\",\"id\":\"ce7074cb-b91d-5fef-ac8f-c1e46617e42a\",\"parent\":\"i\",\"parentExecution\":\"72fda6f9-746b-4c07-8b9b-1ef27036949d\",\"Timestamp\":\"2026-01-01T00:00:04.536329Z\",\"Predecessor\":\"0001-01-01T00:00:00\",\"requestTime\":\"2026-01-01T00:00:04.536329+00:00\"}","EventId":3,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.688096Z"}');
INSERT INTO "history" VALUES('i',15,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:04.688096Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(7,'entity','@dafx-clerk@fb177ad93b9e592a905cd60880094040',NULL,1,'2026-01-01T00:00:04.694178',NULL,'{"id":"ce7074cb-b91d-5fef-ac8f-c1e46617e42a","name":"run","input":"\"{\\\"message\\\": \\\"call look a\\\", \\\"correlationId\\\": \\\"05a489bfea7d527f83be445cb0e0812e\\\", \\\"orchestrationId\\\": \\\"i\\\"}\"","caller_id":"i","caller_execution_id":"72fda6f9-746b-4c07-8b9b-1ef27036949d"}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('72fda6f9-746b-4c07-8b9b-1ef27036949d:2','below','6954e79461295ac7aaf71354e094144f','Completed','"{\"durable-agents/parent\": \"ccee10dc-fc4b-51db-8982-1d68d5161335\", \"input\": {\"n\": 2}}"','[{"n":2},"16113bb2-5b43-5704-bf1e-e96ae0448fa0"]',NULL,'{"name":"each","instance_id":"i","execution_id":"72fda6f9-746b-4c07-8b9b-1ef27036949d","task_id":2}',0,'2026-01-01T00:00:04.333237','2026-01-01T00:00:04.513703','39bcb966a63046e88c4ba6927ee0f3e6-89',NULL);
INSERT INTO "orchestrations" VALUES('i','each','72fda6f9-746b-4c07-8b9b-1ef27036949d','Running','"[]"',NULL,NULL,NULL,0,'2026-01-01T00:00:03.019366','2026-01-01T00:00:04.688096','39bcb966a63046e88c4ba6927ee0f3e6-90',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',7);
COMMIT;
PRAGMA user_version = 4;

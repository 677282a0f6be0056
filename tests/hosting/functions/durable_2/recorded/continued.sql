BEGIN TRANSACTION;
CREATE TABLE entities (
        entity_id TEXT PRIMARY KEY, is_there INTEGER NOT NULL, state TEXT, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '');
INSERT INTO "entities" VALUES('@dafx-clerk@e9f551e930ce56fbb7f661886a244a95',1,'{"schemaVersion":"1.1.0","data":{"conversationHistory":[{"$type":"request","correlationId":"7d2d9cc4929c5d39a5cf19c19d27a653","createdAt":"2026-11-30T11:42:14.265209+00:00","messages":[{"role":"user","contents":[{"$type":"text","text":"call look a"}]}],"orchestrationId":"i","responseType":"text"},{"$type":"response","correlationId":"7d2d9cc4929c5d39a5cf19c19d27a653","createdAt":"2026-11-30T11:42:14.279286+00:00","messages":[{"role":"assistant","contents":[{"$type":"text","text":"One moment."},{"$type":"functionCall","callId":"call-0","name":"look","arguments":{"n":"a"},"agentFramework":{"arguments":"{\"n\": \"a\"}","id":"af-call-6f445c32414d4a49827acdd080a40876"}}],"authorName":"Clerk"},{"role":"tool","contents":[{"$type":"functionResult","callId":"call-0","result":"saw a","agentFramework":{"id":"af-call-6f445c32414d4a49827acdd080a40876"}}],"authorName":"Clerk"},{"role":"assistant","contents":[{"$type":"text","text":"told: saw a"}],"authorName":"Clerk"}],"usage":{}}],"extensionData":{"durableAgentHost":{"applied":["7d2d9cc4929c5d39a5cf19c19d27a653"],"log":{"epoch":0,"position":6,"since":6}}}}}','2026-01-01T00:00:06.790894','39bcb966a63046e88c4ba6927ee0f3e6-147');
CREATE TABLE erasures (asked INTEGER NOT NULL, done INTEGER NOT NULL);
INSERT INTO "erasures" VALUES(1,1);
CREATE TABLE history (
        instance_id TEXT NOT NULL, position INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (instance_id, position)
    ) WITHOUT ROWID;
INSERT INTO "history" VALUES('345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2',0,'{"EventType":12,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:06.17064Z"}');
INSERT INTO "history" VALUES('345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2',1,'{"OrchestrationInstance":{"InstanceId":"345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2","ExecutionId":"ac57e25f3c685c80a083b4c0134bfd51"},"EventType":0,"ParentInstance":{"Name":"each","OrchestrationInstance":{"InstanceId":"i","ExecutionId":"345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b"},"TaskScheduleId":2,"Version":null},"Name":"below","Version":null,"Input":"\"{\\\"durable-agents/parent\\\": \\\"15892bb0-f53f-5e25-a3a2-e799ba95f817\\\", \\\"input\\\": {\\\"n\\\": 2}}\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":null,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:06.124195Z"}');
INSERT INTO "history" VALUES('345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2',2,'{"EventType":1,"OrchestrationStatus":1,"Result":"[{\"n\":2},\"0fdef8a7-0e81-5857-800a-c611dc4c52e8\"]","FailureDetails":null,"EventId":0,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:06.200945Z"}');
INSERT INTO "history" VALUES('345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2',3,'{"EventType":13,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:06.200945Z"}');
CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, target TEXT NOT NULL, execution_id TEXT,
        is_asked INTEGER NOT NULL, sent TEXT NOT NULL, due TEXT, body TEXT NOT NULL
    );
INSERT INTO "messages" VALUES(14,'orchestration','i','449d0272868b5f54a7e1d85c6da6f2f5',1,'2026-01-01T00:00:07.250291',NULL,'{"event":{"OrchestrationInstance":{"InstanceId":"i","ExecutionId":"449d0272868b5f54a7e1d85c6da6f2f5"},"EventType":0,"ParentInstance":null,"Name":"each","Version":null,"Input":"\"{\\\"durable-agents/execution\\\": \\\"6f637aee-2fd4-53d7-ae2c-45784d5d6edb\\\", \\\"input\\\": [[\\\"baffd1d4-c52e-5967-824b-06081d7c48c1\\\", 2, [{\\\"n\\\": 2}, \\\"0fdef8a7-0e81-5857-800a-c611dc4c52e8\\\"], \\\"One moment.told: saw a\\\", [4, 6], \\\"yes\\\", \\\"45cac7b1-4a04-54ad-80f9-719eaa4bf303\\\"]]}\"","Tags":null,"Correlation":null,"ParentTraceContext":null,"ScheduledStartTime":null,"Generation":null,"GenerateNewTrace":false,"EventId":-1,"IsPlayed":false,"Timestamp":"2026-01-01T00:00:07.23966Z"},"execution_id":"449d0272868b5f54a7e1d85c6da6f2f5","carried":[]}');
CREATE TABLE orchestrations (
        instance_id TEXT PRIMARY KEY, name TEXT NOT NULL, execution_id TEXT NOT NULL, status TEXT NOT NULL,
        input TEXT, output TEXT, custom_status TEXT, parent TEXT, is_continued INTEGER NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL
    , etag TEXT NOT NULL DEFAULT '', version TEXT) WITHOUT ROWID;
INSERT INTO "orchestrations" VALUES('345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b:2','below','ac57e25f3c685c80a083b4c0134bfd51','Completed','"{\"durable-agents/parent\": \"15892bb0-f53f-5e25-a3a2-e799ba95f817\", \"input\": {\"n\": 2}}"','[{"n":2},"0fdef8a7-0e81-5857-800a-c611dc4c52e8"]',NULL,'{"name":"each","instance_id":"i","execution_id":"345e7bd0-4ba8-4ebd-a13e-e26e384f2b6b","task_id":2}',0,'2026-01-01T00:00:06.124195','2026-01-01T00:00:06.200945','39bcb966a63046e88c4ba6927ee0f3e6-145',NULL);
INSERT INTO "orchestrations" VALUES('i','each','449d0272868b5f54a7e1d85c6da6f2f5','Running','"{\"durable-agents/execution\": \"6f637aee-2fd4-53d7-ae2c-45784d5d6edb\", \"input\": [[\"baffd1d4-c52e-5967-824b-06081d7c48c1\", 2, [{\"n\": 2}, \"0fdef8a7-0e81-5857-800a-c611dc4c52e8\"], \"One moment.told: saw a\", [4, 6], \"yes\", \"45cac7b1-4a04-54ad-80f9-719eaa4bf303\"]]}"',NULL,NULL,NULL,1,'2026-01-01T00:00:04.695458','2026-01-01T00:00:07.239660','39bcb966a63046e88c4ba6927ee0f3e6-151',NULL);
CREATE INDEX messages_by_target ON messages (kind, target, due);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',14);
COMMIT;
PRAGMA user_version = 4;

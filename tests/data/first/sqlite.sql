PRAGMA application_id = 1097757538;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'answerback','asks_record_and_outbox','2026-11-22 22:08:59.584698+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'answerback','remembered_by_agent','2026-11-22 22:08:59.585042+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'answerback','asks_by_message','2026-11-22 22:08:59.585330+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'answerback','health_of_size','2026-11-22 22:08:59.593833+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'answerback','behind_by_place','2026-11-22 22:08:59.594089+00:00');
CREATE TABLE asks (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        surface TEXT NOT NULL,
        channel TEXT,
        thread_id TEXT,
        conversation TEXT,
        agent TEXT,
        revision INTEGER NOT NULL,
        shown_revision INTEGER NOT NULL,
        due REAL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        message TEXT,
        thread TEXT,
        state TEXT NOT NULL
    ) STRICT;
INSERT INTO "asks" VALUES(1,'ask_1','open','slack','C1','1.1','c','coder',2,1,5001.0,1001.0,2000.0,'{"id":"1"}','{"channel":"C1","id":"1.1","url":null}','{"created_at":1001.0,"updated_at":2000.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1"],"walk":{"phase":"question","at":1,"answers":[{"question_id":"apply","value":true,"other":false,"source":"human","by":{"surface":"slack","user_id":"U1","name":"Ann"},"remembered":false}],"again":null,"kept":[],"editing":null,"reply":null},"outcome":null,"acted_by":{"surface":"slack","user_id":"U1","name":"Ann"},"acted_revision":2,"expires_at":5001.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":true,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}');
INSERT INTO "asks" VALUES(2,'ask_2','answered','slack','C1','2.1','c','coder',3,1,NULL,1002.0,2000.0,'{"id":"2"}','{"channel":"C1","id":"2.1","url":null}','{"created_at":1002.0,"updated_at":2000.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1"],"walk":{"phase":"answered","at":null,"answers":[{"question_id":"apply","value":false,"other":false,"source":"human","by":{"surface":"slack","user_id":"U1","name":"Ann"},"remembered":false},{"question_id":"why","value":"so","other":false,"source":"human","by":{"surface":"slack","user_id":"U1","name":"Ann"},"remembered":false}],"again":null,"kept":[],"editing":null,"reply":null},"outcome":{"status":"answered","at":2000.0,"ended_by":{"surface":"slack","user_id":"U1","name":"Ann"},"source":"human","reason":null,"message":null},"acted_by":{"surface":"slack","user_id":"U1","name":"Ann"},"acted_revision":3,"expires_at":5002.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":true,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}');
INSERT INTO "asks" VALUES(3,'ask_3','open','slack','C1',NULL,'c','coder',1,0,5003.0,1003.0,1003.0,NULL,NULL,'{"created_at":1003.0,"updated_at":1003.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1"],"walk":{"phase":"question","at":0,"answers":[],"again":null,"kept":[],"editing":null,"reply":null},"outcome":null,"acted_by":null,"acted_revision":0,"expires_at":5003.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":false,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}');
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "counters" VALUES('answered',1);
INSERT INTO "counters" VALUES('cancelled',0);
INSERT INTO "counters" VALUES('dead',0);
INSERT INTO "counters" VALUES('delivered',0);
INSERT INTO "counters" VALUES('expired',0);
INSERT INTO "counters" VALUES('failed',0);
INSERT INTO "counters" VALUES('open',2);
INSERT INTO "counters" VALUES('pending',1);
INSERT INTO "counters" VALUES('turn_ended',0);
INSERT INTO "counters" VALUES('withdrawn',0);
CREATE TABLE deliveries (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        ask_id TEXT NOT NULL,
        type TEXT NOT NULL,
        url TEXT NOT NULL,
        agent TEXT,
        body TEXT NOT NULL,
        created_at REAL NOT NULL,
        state TEXT NOT NULL,
        tries INTEGER NOT NULL,
        next_at REAL,
        last_status INTEGER,
        last_error TEXT,
        updated_at REAL NOT NULL
    ) STRICT;
INSERT INTO "deliveries" VALUES(1,'msg_2','ask_2','ask.answered','https://agent.example/hooks','coder','{}',2000.0,'pending',0,2000.0,NULL,NULL,2000.0);
CREATE TABLE drafts (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "drafts" VALUES('draft','{"why":"half"}',1500.0);
CREATE TABLE health (id INTEGER PRIMARY KEY CHECK (id = 1), checks INTEGER NOT NULL, filling TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO "health" VALUES(1,1,replace(hex(zeroblob(131072)), '0', 'b'));
CREATE TABLE idempotency (
        agent TEXT NOT NULL,
        key TEXT NOT NULL,
        digest TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (agent, key)
    ) STRICT, WITHOUT ROWID;
INSERT INTO "idempotency" VALUES('coder','key-1','digest-1','ask_1',1001.0);
INSERT INTO "idempotency" VALUES('coder','key-2','digest-2','ask_2',1002.0);
INSERT INTO "idempotency" VALUES('coder','key-3','digest-3','ask_3',1003.0);
CREATE TABLE record (
        seq INTEGER PRIMARY KEY,
        ask_id TEXT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        entry TEXT NOT NULL
    ) STRICT;
INSERT INTO "record" VALUES(1,'ask_1',2000.0,'answered','{"at":2000.0,"kind":"answered","question_id":"apply","by":{"surface":"slack","user_id":"U1","name":"Ann"},"body":{"value":true,"remembered":false,"other":false,"source":"human"}}');
INSERT INTO "record" VALUES(2,'ask_1',2000.0,'request','{"at":2000.0,"kind":"request","question_id":"why","by":null,"body":{"question":"Why?","context":null,"answer_type":"text","options":null,"default":null,"exclusive":true,"persistence":"none","source":"assistant"}}');
INSERT INTO "record" VALUES(3,'ask_2',2000.0,'answered','{"at":2000.0,"kind":"answered","question_id":"apply","by":{"surface":"slack","user_id":"U1","name":"Ann"},"body":{"value":false,"remembered":false,"other":false,"source":"human"}}');
INSERT INTO "record" VALUES(4,'ask_2',2000.0,'request','{"at":2000.0,"kind":"request","question_id":"why","by":null,"body":{"question":"Why?","context":null,"answer_type":"text","options":null,"default":null,"exclusive":true,"persistence":"none","source":"assistant"}}');
INSERT INTO "record" VALUES(5,'ask_2',2000.0,'answered','{"at":2000.0,"kind":"answered","question_id":"why","by":{"surface":"slack","user_id":"U1","name":"Ann"},"body":{"value":"so","remembered":false,"other":false,"source":"human"}}');
INSERT INTO "record" VALUES(6,'ask_2',2000.0,'ended','{"at":2000.0,"kind":"ended","question_id":null,"by":{"surface":"slack","user_id":"U1","name":"Ann"},"body":{"status":"answered"}}');
CREATE TABLE remembered (
            agent TEXT NOT NULL,
            conversation TEXT NOT NULL,
            turn TEXT NOT NULL,
            tool TEXT NOT NULL,
            question_id TEXT NOT NULL,
            value TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (agent, conversation, turn, tool, question_id)
        ) STRICT, WITHOUT ROWID;
CREATE TABLE requests (seq INTEGER PRIMARY KEY, request TEXT NOT NULL) STRICT;
INSERT INTO "requests" VALUES(1,'{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
INSERT INTO "requests" VALUES(2,'{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
INSERT INTO "requests" VALUES(3,'{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"exclusive":true,"persistence":"none"}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "secrets" VALUES('web',X'1D002E16DE6F2E2A180225047408F75176D144BC1ADE04BB67F82B46E7B4FEF9');
CREATE TABLE seen (id TEXT PRIMARY KEY, at REAL NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "seen" VALUES('Ev1',2000.0);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX asks_by_status ON asks (status);
CREATE INDEX asks_by_surface ON asks (surface);
CREATE INDEX asks_by_surface_status ON asks (surface, status);
CREATE INDEX asks_by_agent ON asks (agent) WHERE agent IS NOT NULL;
CREATE INDEX asks_by_agent_status ON asks (agent, status) WHERE agent IS NOT NULL;
CREATE INDEX asks_by_conversation ON asks (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX asks_in_channel ON asks (surface, channel)
        WHERE status = 'open' AND channel IS NOT NULL;
CREATE INDEX asks_in_thread ON asks (surface, channel, thread_id)
        WHERE status = 'open' AND thread_id IS NOT NULL;
CREATE INDEX asks_due ON asks (due) WHERE due IS NOT NULL;
CREATE INDEX record_by_ask ON record (ask_id) WHERE ask_id IS NOT NULL;
CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
        BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
        BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END;
CREATE INDEX deliveries_by_state ON deliveries (state);
CREATE INDEX deliveries_by_agent ON deliveries (agent) WHERE agent IS NOT NULL;
CREATE INDEX deliveries_by_agent_state ON deliveries (agent, state)
        WHERE agent IS NOT NULL;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'pending';
CREATE INDEX deliveries_waiting ON deliveries (ask_id) WHERE state = 'pending';
CREATE INDEX seen_by_time ON seen (at);
CREATE INDEX idempotency_by_time ON idempotency (at);
CREATE INDEX drafts_by_time ON drafts (at);
CREATE TRIGGER asks_counted AFTER INSERT ON asks
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.status; END;
CREATE TRIGGER asks_recounted AFTER UPDATE OF status ON asks
        WHEN OLD.status <> NEW.status BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.status;
            UPDATE counters SET n = n + 1 WHERE name = NEW.status;
        END;
CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.state; END;
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
        WHEN OLD.state <> NEW.state BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.state;
            UPDATE counters SET n = n + 1 WHERE name = NEW.state;
        END;
CREATE INDEX remembered_by_time ON remembered (at);
CREATE INDEX asks_by_message ON asks (surface, json_extract(message, '$.id'))
            WHERE status = 'open' AND message IS NOT NULL;
CREATE INDEX asks_behind ON asks (surface, channel, message IS NULL, updated_at)
            WHERE shown_revision < revision;
COMMIT;

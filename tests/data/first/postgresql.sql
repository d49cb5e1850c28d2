SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.count_asks() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF TG_OP <> 'INSERT' THEN
                INSERT INTO counters VALUES (OLD.status, pg_backend_pid() % 64, -1)
                    ON CONFLICT (name, slot) DO UPDATE SET n = counters.n - 1;
            END IF;
            INSERT INTO counters VALUES (NEW.status, pg_backend_pid() % 64, 1)
                ON CONFLICT (name, slot) DO UPDATE SET n = counters.n + 1;
            RETURN NULL;
        END $$;
CREATE FUNCTION public.count_deliveries() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
            IF TG_OP <> 'INSERT' THEN
                INSERT INTO counters VALUES (OLD.state, pg_backend_pid() % 64, -1)
                    ON CONFLICT (name, slot) DO UPDATE SET n = counters.n - 1;
            END IF;
            INSERT INTO counters VALUES (NEW.state, pg_backend_pid() % 64, 1)
                ON CONFLICT (name, slot) DO UPDATE SET n = counters.n + 1;
            RETURN NULL;
        END $$;
CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN
        RAISE EXCEPTION 'the record is append-only';
    END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.answerback_migrations (
    name text NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE public.asks (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    version bigint DEFAULT 0 NOT NULL,
    status text NOT NULL,
    surface text NOT NULL,
    channel text,
    thread_id text,
    conversation text,
    agent text,
    revision bigint NOT NULL,
    shown_revision bigint NOT NULL,
    due double precision,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    message text,
    message_id text,
    thread text,
    state text NOT NULL,
    show_holder text,
    show_until timestamp with time zone,
    due_holder text,
    due_until timestamp with time zone
);
CREATE TABLE public.buckets (
    bucket text NOT NULL,
    not_before timestamp with time zone NOT NULL
);
CREATE TABLE public.counters (
    name text NOT NULL,
    slot integer NOT NULL,
    n bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.deliveries (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    ask_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL,
    url text NOT NULL,
    agent text,
    body text NOT NULL,
    created_at double precision NOT NULL,
    state text NOT NULL,
    tries bigint NOT NULL,
    next_at double precision,
    last_status bigint,
    last_error text,
    updated_at double precision NOT NULL,
    holder text,
    claimed_until timestamp with time zone
);
ALTER TABLE public.deliveries ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deliveries_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.drafts (
    hash bytea NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.health (
    id integer NOT NULL,
    checks bigint NOT NULL,
    CONSTRAINT health_id_check CHECK ((id = 1))
);
CREATE TABLE public.idempotency (
    hash bytea NOT NULL,
    agent text NOT NULL,
    key text NOT NULL,
    digest text NOT NULL,
    ask_id text NOT NULL COLLATE pg_catalog."C",
    at double precision NOT NULL
);
CREATE TABLE public.leases (
    name text NOT NULL,
    holder text NOT NULL,
    epoch bigint NOT NULL,
    until timestamp with time zone NOT NULL
);
CREATE TABLE public.listed (
    id integer NOT NULL,
    last bigint NOT NULL,
    CONSTRAINT listed_id_check CHECK ((id = 1))
);
CREATE TABLE public.owed (
    seq bigint NOT NULL,
    ask_id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL,
    conversation text NOT NULL,
    told bigint NOT NULL,
    number bigint,
    at double precision NOT NULL
);
ALTER TABLE public.owed ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.owed_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.record (
    seq bigint NOT NULL,
    ask_id text COLLATE pg_catalog."C",
    at double precision NOT NULL,
    kind text NOT NULL,
    entry text NOT NULL
);
ALTER TABLE public.record ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.record_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.remembered (
    hash bytea NOT NULL,
    agent text NOT NULL,
    conversation text NOT NULL,
    turn text NOT NULL,
    tool text NOT NULL,
    question_id text NOT NULL,
    value text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.requests (
    seq bigint NOT NULL,
    request text NOT NULL
);
ALTER TABLE public.requests ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.requests_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.secrets (
    name text NOT NULL,
    value bytea NOT NULL
);
CREATE TABLE public.seen (
    id text NOT NULL COLLATE pg_catalog."C",
    at double precision NOT NULL
);
INSERT INTO public.answerback_migrations VALUES ('asks_record_and_outbox', '2026-11-22 22:07:32.454097+00');
INSERT INTO public.asks VALUES (1, 'ask_1', 1, 'open', 'slack', 'C1', '1.1', 'c', 'coder', 1, 1, 5001, 1001, 1001, '{"id":"1"}', '1', '{"channel":"C1","id":"1.1","url":null}', '{"created_at":1001.0,"updated_at":1001.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1","@S9"],"walk":{"phase":"question","at":0,"answers":[],"again":null,"kept":[],"editing":null,"reply":null},"outcome":null,"acted_by":null,"acted_revision":0,"expires_at":5001.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":true,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}', NULL, NULL, NULL, NULL);
INSERT INTO public.asks VALUES (2, 'ask_2', 1, 'open', 'slack', 'C1', '2.1', 'c', 'coder', 1, 1, 5002, 1002, 1002, '{"id":"2"}', '2', '{"channel":"C1","id":"2.1","url":null}', '{"created_at":1002.0,"updated_at":1002.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1","@S9"],"walk":{"phase":"question","at":0,"answers":[],"again":null,"kept":[],"editing":null,"reply":null},"outcome":null,"acted_by":null,"acted_revision":0,"expires_at":5002.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":true,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}', NULL, NULL, NULL, NULL);
INSERT INTO public.asks VALUES (3, 'ask_3', 2, 'withdrawn', 'slack', 'C1', '3.1', 'c', 'coder', 2, 1, NULL, 1003, 2000, '{"id":"3"}', '3', '{"channel":"C1","id":"3.1","url":null}', '{"created_at":1003.0,"updated_at":2000.0,"destination":{"surface":"slack","channel":"C1","thread":null,"user":null},"responders":["U1","@S9"],"walk":{"phase":"question","at":0,"answers":[],"again":null,"kept":[],"editing":null,"reply":null},"outcome":{"status":"withdrawn","at":2000.0,"ended_by":null,"source":null,"reason":"withdrawn","message":null},"acted_by":null,"acted_revision":0,"expires_at":5003.0,"set_back":0.0,"reminded":0,"escalated":false,"inquiring":false,"unattended":false,"seen":true,"missed":0,"left":null,"opened":{"at":null,"typed":false,"shown":null}}', NULL, NULL, NULL, NULL);
INSERT INTO public.counters VALUES ('open', 52, 2);
INSERT INTO public.counters VALUES ('withdrawn', 52, 1);
INSERT INTO public.counters VALUES ('pending', 52, 1);
INSERT INTO public.deliveries OVERRIDING SYSTEM VALUE VALUES (1, 'msg_3', 'ask_3', 'ask.answered', 'https://agent.example/hooks', 'coder', '{"type":"ask.answered"}', 1000, 'pending', 0, 1000, NULL, NULL, 1000, NULL, NULL);
INSERT INTO public.drafts VALUES ('\xeef2db53f92cbf7f59c0c7f486b00da212facdba9204390d889a1790ea808a79', 'draft', '{"why":"half"}', 1500);
INSERT INTO public.health VALUES (1, 1);
INSERT INTO public.idempotency VALUES ('\xa8727224b3c3dd2669d0570b128c25d3ea7da340cfcfcca2addf0205735eb67d', 'coder', 'key-3', 'digest-3', 'ask_3', 1003);
INSERT INTO public.listed VALUES (1, 0);
INSERT INTO public.record OVERRIDING SYSTEM VALUE VALUES (1, 'ask_3', 2000, 'cancelled', '{"at":2000.0,"kind":"cancelled","question_id":"apply","by":null,"body":{"reason":"withdrawn"}}');
INSERT INTO public.record OVERRIDING SYSTEM VALUE VALUES (2, 'ask_3', 2000, 'ended', '{"at":2000.0,"kind":"ended","question_id":null,"by":null,"body":{"status":"withdrawn","reason":"withdrawn"}}');
INSERT INTO public.record OVERRIDING SYSTEM VALUE VALUES (3, NULL, 1200, 'refused', '{"at":1200.0,"kind":"refused","question_id":null,"by":null,"body":{"tool":"ask_user"}}');
INSERT INTO public.requests OVERRIDING SYSTEM VALUE VALUES (1, '{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"env","text":"Which environment?","answer_type":"select","context":null,"header":null,"options":[{"value":"staging","label":"staging","description":null,"preview":null},{"value":"prod","label":"prod","description":null,"preview":null}],"json_schema":null,"default":"staging","has_default":true,"when":{"question_id":"apply","equals":true},"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null,"decided_by_hand":false},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
INSERT INTO public.requests OVERRIDING SYSTEM VALUE VALUES (2, '{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"env","text":"Which environment?","answer_type":"select","context":null,"header":null,"options":[{"value":"staging","label":"staging","description":null,"preview":null},{"value":"prod","label":"prod","description":null,"preview":null}],"json_schema":null,"default":"staging","has_default":true,"when":{"question_id":"apply","equals":true},"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null,"decided_by_hand":false},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
INSERT INTO public.requests OVERRIDING SYSTEM VALUE VALUES (3, '{"name":"ask_user","dialect":"ask_user","arguments":{"questions":[]},"form":{"questions":[{"id":"apply","text":"Apply the migration?","answer_type":"boolean","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"env","text":"Which environment?","answer_type":"select","context":null,"header":null,"options":[{"value":"staging","label":"staging","description":null,"preview":null},{"value":"prod","label":"prod","description":null,"preview":null}],"json_schema":null,"default":"staging","has_default":true,"when":{"question_id":"apply","equals":true},"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null},{"id":"why","text":"Why?","answer_type":"text","context":null,"header":null,"options":[],"json_schema":null,"default":null,"has_default":false,"when":null,"other":false,"other_beside":false,"notes":false,"exclusive":true,"persistence":"none","null_is_left_out":false,"tool":null}],"review":false,"reply_needs_text":false,"reply_is_free_text":false,"tool":null,"decided_by_hand":false},"agent":"coder","callback":null,"conversation":"c","turn":null,"tool_call_id":null,"on_expiry":"cancel","remind_after":[],"escalation":null,"metadata":{},"prompt_label":"Assistant","prompt_labels":{}}');
INSERT INTO public.secrets VALUES ('web', '\xcfd66423b0ed2eadda749d70514ec6c667fe2b6209268d32904f101e6a3f50fa');
SELECT pg_catalog.setval('public.deliveries_seq_seq', 1, true);
SELECT pg_catalog.setval('public.owed_seq_seq', 1, false);
SELECT pg_catalog.setval('public.record_seq_seq', 3, true);
SELECT pg_catalog.setval('public.requests_seq_seq', 3, true);
ALTER TABLE ONLY public.answerback_migrations
    ADD CONSTRAINT answerback_migrations_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.asks
    ADD CONSTRAINT asks_id_key UNIQUE (id);
ALTER TABLE ONLY public.asks
    ADD CONSTRAINT asks_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (bucket);
ALTER TABLE ONLY public.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name, slot);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_id_key UNIQUE (id);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.health
    ADD CONSTRAINT health_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.listed
    ADD CONSTRAINT listed_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.owed
    ADD CONSTRAINT owed_ask_id_key UNIQUE (ask_id);
ALTER TABLE ONLY public.owed
    ADD CONSTRAINT owed_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.remembered
    ADD CONSTRAINT remembered_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.seen
    ADD CONSTRAINT seen_pkey PRIMARY KEY (id);
CREATE INDEX asks_behind ON public.asks USING btree ("left"(surface, 128), "left"(channel, 128), ((message IS NULL)), updated_at) WHERE (shown_revision < revision);
CREATE INDEX asks_by_agent ON public.asks USING btree ("left"(agent, 128), seq) WHERE (agent IS NOT NULL);
CREATE INDEX asks_by_agent_status ON public.asks USING btree ("left"(agent, 128), status, seq) WHERE (agent IS NOT NULL);
CREATE INDEX asks_by_conversation ON public.asks USING btree ("left"(conversation, 128), seq) WHERE (conversation IS NOT NULL);
CREATE INDEX asks_by_message ON public.asks USING btree ("left"(surface, 128), "left"(message_id, 128)) WHERE ((status = 'open'::text) AND (message_id IS NOT NULL));
CREATE INDEX asks_by_status ON public.asks USING btree (status, seq);
CREATE INDEX asks_by_surface ON public.asks USING btree ("left"(surface, 128), seq);
CREATE INDEX asks_by_surface_status ON public.asks USING btree ("left"(surface, 128), status, seq);
CREATE INDEX asks_due ON public.asks USING btree (due) WHERE (due IS NOT NULL);
CREATE INDEX asks_due_claimed ON public.asks USING btree (due_holder) WHERE (due_holder IS NOT NULL);
CREATE INDEX asks_in_channel ON public.asks USING btree ("left"(surface, 128), "left"(channel, 128), seq) WHERE ((status = 'open'::text) AND (channel IS NOT NULL));
CREATE INDEX asks_in_thread ON public.asks USING btree ("left"(surface, 128), "left"(channel, 128), "left"(thread_id, 128), seq) WHERE ((status = 'open'::text) AND (thread_id IS NOT NULL));
CREATE INDEX deliveries_by_agent ON public.deliveries USING btree ("left"(agent, 128), seq) WHERE (agent IS NOT NULL);
CREATE INDEX deliveries_by_agent_state ON public.deliveries USING btree ("left"(agent, 128), state, seq) WHERE (agent IS NOT NULL);
CREATE INDEX deliveries_by_state ON public.deliveries USING btree (state, seq);
CREATE INDEX deliveries_claimed ON public.deliveries USING btree (holder) WHERE ((state = 'pending'::text) AND (holder IS NOT NULL));
CREATE INDEX deliveries_due ON public.deliveries USING btree (next_at) WHERE (state = 'pending'::text);
CREATE INDEX deliveries_waiting ON public.deliveries USING btree (ask_id, seq) WHERE (state = 'pending'::text);
CREATE INDEX drafts_by_time ON public.drafts USING btree (at);
CREATE INDEX idempotency_by_time ON public.idempotency USING btree (at);
CREATE INDEX owed_by_time ON public.owed USING btree (at) WHERE (told > 0);
CREATE INDEX owed_to_agent ON public.owed USING btree ("left"(agent, 128), "left"(conversation, 128)) WHERE (told < 2);
CREATE INDEX record_by_ask ON public.record USING btree (ask_id, seq) WHERE (ask_id IS NOT NULL);
CREATE INDEX remembered_by_time ON public.remembered USING btree (at);
CREATE INDEX seen_by_time ON public.seen USING btree (at);
CREATE TRIGGER asks_counted AFTER INSERT ON public.asks FOR EACH ROW EXECUTE FUNCTION public.count_asks();
CREATE TRIGGER asks_recounted AFTER UPDATE OF status ON public.asks FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION public.count_asks();
CREATE TRIGGER deliveries_counted AFTER INSERT ON public.deliveries FOR EACH ROW EXECUTE FUNCTION public.count_deliveries();
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON public.deliveries FOR EACH ROW WHEN ((old.state <> new.state)) EXECUTE FUNCTION public.count_deliveries();
CREATE TRIGGER record_is_not_changed BEFORE DELETE OR UPDATE OR TRUNCATE ON public.record FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

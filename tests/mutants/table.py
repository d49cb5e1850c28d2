"""One-line changes that would each break a promise, and the tests that notice them."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One changed line of the product."""

    file: str
    line: str
    """What is replaced: a part of a line that occurs once in the file."""
    mutant: str
    tests: tuple[str, ...]
    """The arguments of pytest that select the tests which notice the change."""
    slow: bool = False
    """Whether its tests take more than some seconds."""


_CORE = "bot/answerback/core"
_SERVICE = "bot/answerback/service"
_WEBHOOKS = "bot/answerback/webhooks"
_SQLITE = "storage/answerback_storage/sqlite"
_POSTGRES = "storage/answerback_storage/postgres"
_UNIT = "tests/unit/bot"
_ANSWERS = (f"{_UNIT}/core/test_answers.py",)
_CONFIRMATIONS = (f"{_UNIT}/api/test_confirmations.py", f"{_UNIT}/service/test_confirmations.py")
_DECIDING = (
    "tests/acceptance/test_chaos_deciding.py"
    "::test_people_decide_together_while_processes_are_killed[sqlite]",
)
_GRANTS = (f"{_UNIT}/core/test_grants.py",)
_GRANTS_SERVED = (f"{_UNIT}/api/test_grants.py", f"{_UNIT}/api/test_grants_end.py")
_GRANTS_STORED = ("tests/unit/storage/test_store_contract.py",)
_ACTING = (f"{_UNIT}/service/test_service.py", f"{_UNIT}/service/test_submission.py")
_ADDRESSES = (f"{_UNIT}/service/test_callbacks.py", f"{_UNIT}/webhooks/test_webhook_isolation.py")
_SLACK_ERRORS = "adapters/answerback_slack/errors.py"
_DISCORD_ERRORS = "adapters/answerback_discord/errors.py"
_SLACK = ("tests/unit/adapters/slack/test_errors.py",)
_DISCORD = ("tests/unit/adapters/discord/test_errors.py",)
_CACHED = ("tests/unit/storage/sqlite/test_cached_asks.py",)
_OUTDATED = ("tests/unit/storage/sqlite/test_odd_files.py",)
_RECORDED = ("tests/unit/storage/sqlite/test_record_lines.py",)
_MCP = "bot/answerback/mcp"
_MCP_TESTS = f"{_UNIT}/mcp"
_CANCELLED = (f"{_MCP_TESTS}/test_mcp_cancellation.py",)
_CROSSED = (
    f"{_MCP_TESTS}/test_mcp_cancelled_calls.py"
    "::test_a_cancellation_that_crosses_the_answer_undoes_its_delivery",
)
_TASKS = (f"{_MCP_TESTS}/test_mcp_tasks.py",)
_LATE = (f"{_UNIT}/api/test_late_answers.py",)
_LATE_MCP = (f"{_MCP_TESTS}/test_late_answers_mcp.py",)
_PG = "tests/unit/storage/postgres"
_PG_CONTRACT = "tests/unit/storage/test_store_contract.py::TestPostgresStore"
_PG_RACE = f"{_PG}/test_postgres_store.py::test_of_two_processes_at_the_same_revision_exactly_one_changes_the_ask"
_PG_FENCE = f"{_PG}/test_postgres_guards.py"
_PG_LEASE = f"{_PG_CONTRACT}::test_a_process_that_lost_a_lease_changes_nothing"
_PG_REVOKED = f"{_PG_CONTRACT}::test_a_revoked_grant_is_used_no_more"
_PG_USE = f"{_PG_CONTRACT}::test_each_use_is_counted_once_and_with_its_ask"
_PG_TIME = f"{_PG_CONTRACT}::test_a_use_outside_its_time_is_none"
_PG_TWICE = (
    f"{_PG}/test_postgres_store.py::test_a_delivery_received_by_two_processes_at_once_counts_once"
)
_PG_REPEATED = f"{_PG_CONTRACT}::test_a_repeated_delivery_writes_nothing_and_is_reported"
_PG_TOGETHER = f"{_PG_CONTRACT}::test_simultaneous_deliveries_with_one_id_count_once"
_PG_READS = f"{_PG}/test_postgres_coalesced_reads.py"
_SQLITE_STORE = ("tests/unit/storage/test_store_contract.py::TestSqliteStore",)

MUTANTS = (
    # Answers: what fits a question.
    Mutant(f"{_CORE}/strict_json.py", "return a is b", "return a == b", _ANSWERS),
    Mutant(
        f"{_CORE}/strict_json.py",
        "return len(a) == len(b) and all(map(json_equal, a, b))",
        "return all(map(json_equal, a, b))",
        _ANSWERS,
    ),
    # Asks: an outcome, its revision and what belongs to it.
    Mutant(
        f"{_CORE}/clarification.py",
        "if question_id is None or not can_ask_back(ask):",
        "if question_id is None:",
        (f"{_UNIT}/mcp/test_clarification_mcp.py", f"{_UNIT}/api"),
    ),
    # Grants: what is certainly the same, and for how long.
    *(
        Mutant(f"{_CORE}/grants.py", line, mutant, _GRANTS)
        for line, mutant in (
            ("return self.ended_at is None and self.used", "return self.used"),
            ("self.used < self.uses and self.at", "self.at"),
            ("self.at <= now < self.until", "now < self.until"),
            ("<= now < self.until", "<= now <= self.until"),
            ("is_within = grant.used < offer.uses and now", "is_within = now"),
            ("and now < grant.at + 60 * offer.minutes", ""),
            ("each.scope == grant.scope for each", "True for each"),
            ("if not 1 <= value <= most:", "if not 1 <= value:"),
            ("whole = len(asker.folder) <= MAX_FOLDER and", "whole ="),
            ("<= MAX_FOLDER and is_plain_path(asker.folder)", "<= MAX_FOLDER"),
            ("or len(call.tool) > _MAX_TOOL", ""),
            ("if len(each.subject) <= MAX_SUBJECT and", "if"),
            ("and visible(each.subject) == each.subject", ""),
            ("whole = [*asker, call.request", "whole = [call.request"),
            (
                "call.request, call.tool, call.server, candidate",
                "call.tool, call.server, candidate",
            ),
            ("call.request, call.tool, call.server", "call.request, call.server"),
            ("call.tool, call.server, candidate.match", "call.tool, candidate.match"),
            ("call.server, candidate.match, candidate.same]", "call.server, candidate.match]"),
            ('f"{name} {said}", [arguments, call.notes]', 'f"{name} {said}", [call.notes]'),
            ("if len(found) == 1 else", "if found else"),
            ("if isinstance(fields.get(name), str):", "if name in fields:"),
            (
                "command, [name, command, rest, notes])",
                "command, [name, command.strip(), rest, notes])",
            ),
            ("command, [name, command, rest, notes]", "command, [name, command, notes]"),
            ("if _PLAIN_COMMAND.fullmatch(command):", "if True:"),
            ('if f"{command} ".startswith(f"{prefix} "):', "if command.startswith(prefix):"),
            ("prefix, [name, rest, notes])", "prefix, [name, notes])"),
            ("and is_plain_path(path)", ""),
            ("and all(map(_is_content, parts))", ""),
            ("and all(_is_about(each, path) for each in places)", ""),
            ("and part.keys() <= _CONTENT", ""),
            ("and not any(isinstance(value, dict | list) for value in part.values())", ""),
            ('not path.startswith("//") and', ""),
            ("and posixpath.normpath(path) == path", ""),
            ("and ntpath.normpath(path) == path", ""),
            ("port = port or _DEFAULT_PORTS[scheme]", "port = _DEFAULT_PORTS[scheme]"),
            (
                "shown, [name, scheme, host, port, rest, notes]",
                "shown, [name, scheme, host, port, notes]",
            ),
            ("[name, scheme, host, port, rest", "[name, host, port, rest"),
            ("(?::([1-9][0-9]{0,4}))?", "(?::([0-9]{0,5}))?"),
        )
    ),
    Mutant(f"{_CORE}/granting.py", "or ask.form.confirmation is not None", "", _GRANTS_SERVED),
    *(
        Mutant(f"{_SERVICE}/grants.py", line, mutant, _GRANTS_SERVED)
        for line, mutant in (
            (
                "if rule is None or route is None or agent is None",
                "if rule is None or route is None",
            ),
            ("folder is None or folder != planned.origin.folder:", "folder is None:"),
            ("is_trusted = grant.at >= since and covers(", "is_trusted = covers("),
            ("if is_trusted and await self._may_still_answer(grant, ask):", "if is_trusted:"),
            ("if await self._credential_of(grant.by) != grant.credential:", "if False:"),
            ("surfaces) is True", "surfaces) is not False"),
            ("self._trusted_since = now if was_later else 0.0", "self._trusted_since = 0.0"),
        )
    ),
    *(
        Mutant(f"{_SQLITE}/asks.py", line, mutant, _GRANTS_STORED)
        for line, mutant in (
            ("AND used = ?2 - 1 AND used < uses", "AND used < uses"),
            (
                "AND at <= ?3 AND until > ?3 AND ended_at IS NULL",
                "AND at <= ?3 AND ended_at IS NULL",
            ),
            ("AND until > ?3 AND ended_at IS NULL", "AND until > ?3"),
        )
    ),
    # Confirmations: whose count, and when they are enough.
    *(
        Mutant(f"{_CORE}/{file}.py", line, mutant, _CONFIRMATIONS)
        for file, line, mutant in (
            (
                "confirmation",
                "if any(people.may_be_same(by, each) for each in answerers):",
                "if False:",
            ),
            (
                "confirmation",
                "if any(people.may_be_same(by, each) for each in voters):",
                "if False:",
            ),
            ("confirmation", "if by.known is AuthMethod.KEY:", "if False:"),
            ("confirmation", "people.may_be(by, rule.requester)", "False"),
            ("confirmation", "for each in others):", "for each in ()):"),
            ("walker", "len(votes) >= form.confirmation.due", "len(votes) > 0"),
            ("clarification", "walk=replace(ask.walk, votes=()),", "walk=ask.walk,"),
        )
    ),
    # Confirmations, as whole processes keep them while they are killed.
    *(
        Mutant(file, line, mutant, _DECIDING, slow=True)
        for file, line, mutant in (
            (
                "storage/answerback_storage/rows.py",
                "return ask if ask.erased_at is None else replace(ask, request=erase_request(request))",
                "return replace(ask, walk=replace(ask.walk, votes=2 * ask.walk.votes))",
            ),
            (
                f"{_CORE}/people.py",
                "return name is not None and name == self.name_of(other)",
                "return False",
            ),
            (
                f"{_CORE}/secrecy.py",
                "return ask.form.confirmation is not None and ask.status is not Status.ANSWERED",
                "return ask.confirming",
            ),
            (
                f"{_SERVICE}/record_wire.py",
                "if stored.entry.kind in kinds and not",
                "if not",
            ),
            (
                f"{_SQLITE}/change_batches.py",
                "if (digest := self._batch.seen(self.delivery)) is not None:",
                "if False and (digest := self._batch.seen(self.delivery)) is not None:",
            ),
        )
    ),
    # Acting: late, stale, foreign and repeated actions.
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "if ask is None or intent.surface not in {None, ask.destination.surface}:",
        "if ask is None:",
        (
            *_ACTING,
            "tests/unit/adapters/chat/test_live_message.py",
            f"{_UNIT}/service/test_service_edge_cases.py",
        ),
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "if (refused := self._refused(intent, actor, ask)) is not None:",
        "if (refused := self._refused(intent, actor, ask)) is not None and False:",
        _ACTING,
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "if isinstance(action, Answer) and action.remember and not offers_to_remember(ask):",
        "if isinstance(action, Answer) and action.remember and False:",
        _ACTING,
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "return Decision(None, Rejected(RejectReason.ENDED, ask))",
        "return Decision(None, Acted(ask))",
        (*_ACTING, f"{_UNIT}/workers/test_deadlines.py", f"{_UNIT}/workers/test_inquiry.py"),
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "owed = ask.outcome is not None and ask.status is not Status.WITHDRAWN",
        "owed = False",
        (
            f"{_UNIT}/service/test_delivery.py",
            f"{_UNIT}/api",
            "tests/unit/bot/mcp/test_late_answers_mcp.py",
        ),
    ),
    # Authorization: who is calling.
    Mutant(
        "bot/answerback/api/auth.py",
        "agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)",
        "agent for known, agent in self._agents.items()",
        (f"{_UNIT}/api", f"{_UNIT}/cli/test_tokens.py"),
    ),
    Mutant(
        "bot/answerback/api/auth.py",
        "if not self.required:",
        "if True:",
        (f"{_UNIT}/api", f"{_UNIT}/cli/test_tokens.py"),
    ),
    # Webhooks: where they go, how they are signed, and when they are sent again.
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        "parsed = _effective_address(parsed)",
        "pass",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        'if kind is None or (kind == "private" and self._is_allowed_host(host)):',
        "if kind is None or self._is_allowed_host(host):",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        'if parsed.scheme not in {"http", "https"}:',
        "if False:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        "if parsed.user is not None or parsed.password is not None:",
        "if parsed.user is not None:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        "if _NUMERIC_HOST.fullmatch(host):",
        "if False:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        "if not self.secrets_of(agent.name if agent else None):",
        "if not self.secrets:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/address_policy.py",
        "address for address, reason in zip(resolved, reasons, strict=True) if reason is None",
        "address for address, reason in zip(resolved, reasons, strict=True)",
        _ADDRESSES,
    ),
    Mutant(
        f"{_WEBHOOKS}/sender.py",
        "if (reason := self.rules.url_refusal_reason(delivery.url)) is not None:",
        "if False and (reason := self.rules.url_refusal_reason(delivery.url)) is not None:",
        (
            *_ADDRESSES,
            f"{_UNIT}/service/test_delivery.py",
            f"{_UNIT}/webhooks/test_delivery_trouble.py",
        ),
    ),
    Mutant(
        f"{_WEBHOOKS}/sender.py",
        "allow_redirects=False,",
        "allow_redirects=True,",
        (
            *_ADDRESSES,
            f"{_UNIT}/service/test_delivery.py",
            f"{_UNIT}/webhooks/test_delivery_trouble.py",
        ),
    ),
    Mutant(
        f"{_WEBHOOKS}/sender.py",
        "signatures = [Webhook(secret).sign(webhook_id, time, body) for secret in secrets]",
        "signatures = [Webhook(secret).sign(webhook_id, time, body) for secret in secrets[:1]]",
        (*_ADDRESSES, f"{_UNIT}/service/test_delivery.py", f"{_UNIT}/client/test_client.py"),
    ),
    Mutant(
        f"{_WEBHOOKS}/sender.py",
        "return min(float(value), LONGEST_RETRY_AFTER)",
        "return float(value)",
        (
            f"{_UNIT}/service/test_delivery.py",
            f"{_UNIT}/webhooks/test_delivery_trouble.py",
            *_ADDRESSES,
        ),
    ),
    # Platforms' errors: each documented code, and what it causes.
    Mutant(
        "adapters/answerback_slack/errors.py",
        '"is_archived": "the channel',
        '"was_archived": "the channel',
        _SLACK,
    ),
    Mutant(_SLACK_ERRORS, '"hash_conflict", ', "", _SLACK),
    Mutant(_SLACK_ERRORS, '"fatal_error", ', "", _SLACK),
    Mutant(_SLACK_ERRORS, '"cant_update_message", ', "", _SLACK),
    Mutant(_DISCORD_ERRORS, "ErrorCode.SLOW_MODE, ", "", _DISCORD),
    Mutant(
        _DISCORD_ERRORS,
        "UNKNOWN_WEBHOOK = 10015",
        "UNKNOWN_WEBHOOK = 10016",
        _DISCORD,
    ),
    Mutant(
        _DISCORD_ERRORS,
        "if status == 401 and not number:",
        "if status == 401:",
        (
            *_DISCORD,
            "tests/unit/adapters/discord/test_group_membership.py",
            "tests/unit/adapters/discord/test_control_inputs.py",
        ),
    ),
    # Stores: caches and guards.
    *(
        Mutant(f"{_SQLITE}/{file}.py", line, mutant, _OUTDATED)
        for file, line, mutant in (
            ("asks", "WHERE id = ?14 AND revision = ?15", "WHERE id = ?14 AND ?15 IS NOT NULL"),
            (
                "asks",
                "if db.execute(_UPDATE, values).rowcount != 1:",
                "if db.execute(_UPDATE, values).rowcount < 0:",
            ),
            ("change_batches", "WHERE id = column1 AND revision = column2", "WHERE id = column1"),
            (
                "connections",
                "self._batch.forget()  # what it was decided on may be outdated",
                "pass",
            ),
            (
                "change_batches",
                "if _execute(db, _STEP, steps) != len(steps):",
                "if _execute(db, _STEP, steps) < 0:",
            ),
        )
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if version != self._version:  # another connection wrote",
        "if False:  # another connection wrote",
        _RECORDED,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if (digest := self._batch.seen(self.delivery)) is not None:",
        "if False and (digest := self._batch.seen(self.delivery)) is not None:",
        _SQLITE_STORE,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "if cached is not None and ask.open:",
        "if cached is not None:",
        _CACHED,
    ),
    Mutant(
        f"{_SQLITE}/change_batches.py",
        "self._seen[delivery] = digest",
        "pass",
        _SQLITE_STORE,
    ),
    # MCP: what a cancelled call, a task or a waiting call reports.
    *(
        Mutant(f"{_MCP}/{file}.py", line, mutant, tests)
        for file, line, mutant, tests in (
            ("cancellation", "self.scope.cancel()", "pass", _CANCELLED),
            ("cancellation", "await self.tracker.undo_seen()", "pass", _CROSSED),
            (
                "cancellation",
                "if self._calls.get(key) is call:",
                "if key in self._calls:",
                _CANCELLED,
            ),
            (
                "cancellation",
                "[agent, session, str(request_id)]",
                "[session, str(request_id)]",
                _CANCELLED,
            ),
            (
                "tasks",
                "backend.withdraw(params.task_id, reported=False)",
                "backend.withdraw(params.task_id)",
                _TASKS,
            ),
            (
                "tasks",
                "backend.get(params.task_id, reported=False)",
                "backend.get(params.task_id)",
                _TASKS,
            ),
            ("tasks", "if not client_supports_tasks(ctx):", "if False:", _TASKS),
            ("server", "clarifies=not as_task,", "clarifies=True,", _TASKS),
            ("backend", "self.tracker.hold_back(ask)", "pass", _LATE_MCP),
            (
                "backend",
                "self._report(late_answer.ask, SeenState.LISTED)",
                "self._report(late_answer.ask)",
                _LATE_MCP,
            ),
            (
                "backend",
                "return self._report(ask) if reported else ask_json(ask)",
                "return self._report(ask)",
                _TASKS,
            ),
            ("backend", "await self.service.presence.record_poll(ask)", "pass", _TASKS),
            (
                "client_backend",
                'ask["collected_at"] is not None or self._reported',
                "self._reported",
                _TASKS,
            ),
        )
    ),
    *(
        Mutant(f"{_MCP}/{file}.py", line, mutant, (f"{_MCP_TESTS}/{test}",), slow=True)
        for file, line, mutant, test in (
            (
                "cancellation",
                "self._changes.announce(key)",
                "pass",
                "test_mcp_cancelled_replicas.py",
            ),
            ("endpoint", "await tracker.finish_stream()", "pass", "test_mcp_cancelled_calls.py"),
            (
                "client_backend",
                "self._reported.add(self._request_id, retry.ask_id)",
                "pass",
                "test_mcp_cancelled_calls.py",
            ),
            (
                "client_backend",
                'if ask["status"] != Status.OPEN and not had:',
                'if ask["status"] != Status.OPEN:',
                "test_mcp_tasks.py",
            ),
            (
                "backend",
                "return ask if ask is not None and may_see(self.agent, ask) else None",
                "return ask",
                "test_mcp.py",
            ),
        )
    ),
    # Late answers: reported once, and again if the response got lost.
    *(
        Mutant(f"{_SERVICE}/late_answers.py", line, mutant, _LATE)
        for line, mutant in (
            ("await self._save_collected(ask_ids, at)", "pass"),
            ("if state is SeenState.UNSEEN:", "if False:"),
            ("(SeenState.SEEN,) if after is not None else", "(SeenState.SEEN,) if True else"),
            ("await asyncio.wait([*self._lost])", "pass"),
            ("if not ask.open and not self._is_lost:", "if not ask.open:"),
            ("held[ask_id] -= 1", "held[ask_id] = 0"),
            ("or ask.erased_at is not None or", "or"),
        )
    ),
    # PostgreSQL: the version that was read, the lease, each use of a grant, and what was seen before.
    *(
        Mutant(f"{_POSTGRES}/ask_writes.py", line, mutant, (test,), slow)
        for line, mutant, test, slow in (
            (
                "JOIN new ON asks.id = c0 AND asks.version = c1",
                "JOIN new ON asks.id = c0",
                _PG_RACE,
                False,
            ),
            ("SET version = asks.version + 1,", "SET version = asks.version,", _PG_RACE, True),
            (
                'fence_condition = "AND EXISTS (SELECT 1 FROM fenced)"',
                'fence_condition = ""',
                _PG_FENCE,
                False,
            ),
            ("AND until > clock_timestamp() FOR SHARE", "FOR SHARE", _PG_FENCE, True),
            (
                'epoch = {params.add(fence.epoch, "bigint")}',
                'epoch >= {params.add(fence.epoch, "bigint")}',
                _PG_FENCE,
                True,
            ),
            ("AND used = {number} - 1 AND used < uses", "AND used < uses", _PG_USE, False),
            ("AND used < uses AND grants.at", "AND grants.at", _PG_USE, True),
            ("AND grants.at <= {at} AND until", "AND until", _PG_TIME, True),
            ("AND until > {at} AND ended_at IS NULL", "AND ended_at IS NULL", _PG_TIME, True),
            ("> {at} AND ended_at IS NULL", "> {at}", _PG_REVOKED, True),
            (
                "WHERE grants.id = c1 AND ended_at IS NULL",
                "WHERE grants.id = c1",
                _PG_REVOKED,
                True,
            ),
        )
    ),
    *(
        Mutant(f"{_POSTGRES}/change_batches.py", line, mutant, (test,), slow)
        for line, mutant, test, slow in (
            (
                "if not await self._database.read(lease_statement, fence):",
                "if False:",
                _PG_LEASE,
                True,
            ),
            ("and not (taken and taken[-1].fence)", "", _PG_LEASE, True),
            (
                "if job.ask_id in self._busy or must_go_alone",
                "if job.ask_id in self._busy",
                _PG_LEASE,
                False,
            ),
            ("if name in moved or ask_changes.write_rows is None:", "if True:", _PG_RACE, True),
            ('if "seen_pkey" in str(error):', "if False:", _PG_TWICE, True),
            ("if repeated or write is None:", "if write is None:", _PG_REPEATED, True),
            ("seen[job.delivery] = job.digest", "pass", _PG_TOGETHER, False),
        )
    ),
    *(
        Mutant(f"{_POSTGRES}/coalesced_reads.py", line, mutant, (_PG_READS,))
        for line, mutant in (
            ("if keys is self._pending_keys:", "if False:"),
            ("await asyncio.shield(self._next)", "await self._next"),
        )
    ),
)

"""Changes of what agents are told: MCP and late answers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SERVICE = "bot/answerback/service"
_UNIT = "tests/unit/bot"
_MCP = "bot/answerback/mcp"
_MCP_TESTS = f"{_UNIT}/mcp"
_HOOKS = (
    f"{_UNIT}/hooks/test_late_answers_hooks.py",
    f"{_UNIT}/hooks/test_claude_hooks_permission.py",
)
_GATEWAY = tuple(
    f"{_UNIT}/agents/mcp_proxy/test_mcp_proxy_{name}.py" for name in ("hostile", "tasks")
)
_CANCELLED = (f"{_MCP_TESTS}/test_mcp_cancellation.py",)
_CROSSED = (
    f"{_MCP_TESTS}/test_mcp_cancelled_calls.py"
    "::test_a_cancellation_that_crosses_the_answer_undoes_its_delivery",
)
_BACKENDS = (f"{_MCP_TESTS}/test_mcp_backends.py",)
_TASKS = (f"{_MCP_TESTS}/test_mcp_tasks.py",)
_LATE = tuple(f"{_UNIT}/api/test_{name}.py" for name in ("late_answers", "concurrent_late_answers"))
_RELAY = (f"{_MCP_TESTS}/test_stdio_relay.py",)
_GATE = "bot/answerback_agents/mcp_proxy"
_EDITED_CALLS = (f"{_UNIT}/agents/mcp_proxy/test_mcp_proxy_edits.py",)
_FOLDER = (f"{_UNIT}/client/test_folder_pictures.py",)
_SAVED = (f"{_UNIT}/agents/pipe/test_saved_files.py",)
_LATE_MCP = (f"{_MCP_TESTS}/test_late_answers_mcp.py",)

AGENTS = (
    # MCP: a cancellation that is there before its call.
    Mutant(
        "bot/answerback/mcp/cancellation.py",
        "if key in self._early:",
        "if False:",
        _CANCELLED,
    ),
    # Connecting: a handler that a person has added to a group.
    Mutant(
        "bot/answerback_agents/connect/settings_entries.py",
        "if before is None or len(before) == len(place):",
        "if before is None or True:",
        (f"{_UNIT}/agents/connect/test_connect_formats.py",),
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
            ("backend", "await self.service.presence.record_poll(ask)", "pass", _BACKENDS),
            (
                "stdio_relay",
                "meta[IDEMPOTENCY_KEY] = secrets.token_hex(16)",
                "pass",
                _RELAY,
            ),
            (
                "stdio_relay",
                'ctx.method != "tools/call" or find_key(meta) is not None',
                'ctx.method != "tools/call" or meta.get(IDEMPOTENCY_KEY)',
                _RELAY,
            ),
            ("stdio_relay", "progress.note_end()", "pass", _RELAY),
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
                "stdio_relay",
                "async with self._cancelling:  # what",
                "if True:  # what",
                "test_mcp_cancelled_calls.py",
            ),
            (
                "backend",
                "if ask is None or not may_see(ask, viewer, self.service.people):",
                "if ask is None:",
                "test_mcp.py",
            ),
        )
    ),
    Mutant(
        f"{_SERVICE}/late_answers.py",
        "or ask.erased_at is not None or",
        "or",
        (f"{_UNIT}/api/test_erasure.py",),
    ),
    # Late answers: reported once, and again if the response got lost.
    *(
        Mutant(f"{_SERVICE}/late_answers.py", line, mutant, _LATE)
        for line, mutant in (
            ("await self._save_collected(ask_ids, at, state, within)", "list[str]()"),
            ("if state is SeenState.UNSEEN:", "if False:"),
            ("(SeenState.SEEN,) if after is not None else", "(SeenState.SEEN,) if True else"),
            ("await asyncio.wait([*self._lost])", "pass"),
            ("if not ask.open and not self._is_lost:", "if not ask.open:"),
            ("held[ask_id] -= 1", "held[ask_id] = 0"),
            ("each for key, each in released if key in keys", "each for _, each in released"),
            ("released.add((hold_key, ask_id))", "pass"),
        )
    ),
    # Acknowledgements: of the agent's own asks, once they have ended.
    *(
        Mutant("bot/answerback/api/late_answers.py", line, mutant, _LATE)
        for line, mutant in (
            ("if call.may_see(ask) and not ask.open]", "if not ask.open]"),
            ("if call.may_see(ask) and not ask.open]", "if call.may_see(ask)]"),
            ('"Prefer" in request.headers and', "False and"),
        )
    ),
    Mutant(f"{_SERVICE}/late_answers.py", "self._stop_awaiting(ask_ids)", "pass", _LATE),
    # Tokens: sent only to a program that knows them.
    Mutant(
        "bot/answerback_client/connection.py",
        "if challenge.is_proved_by(body):",
        "if True:",
        (f"{_UNIT}/hooks/test_impostors.py",),
    ),
    Mutant(
        "bot/answerback_client/connection.py",
        "await self.prove_listener()",
        "pass",
        _RELAY,
    ),
    # Leases: a caller that has gone is not said to be away, since its approval ends.
    Mutant(
        f"{_SERVICE}/agent_presence.py",
        "if policy.notes_departure:",
        "if True:",
        (f"{_UNIT}/service/test_approval_leases.py",),
    ),
    Mutant(
        "bot/answerback_agents/bridges/pending_requests.py",
        "if self._by_key.get(key) is pending:",
        "if key in self._by_key:",
        ("tests/unit/bot/agents/bridges/test_pending_requests.py",),
    ),
    # Hooks: words that came with a permission, and prompts that were decided in the host's own window.
    Mutant(
        "bot/answerback/hooks/endpoint.py",
        "if not has_files and owed_note(ask) is None:",
        "if not has_files:",
        _HOOKS[:1],
    ),
    *(
        Mutant("bot/answerback/hooks/endpoint.py", line, mutant, _HOOKS[1:])
        for line, mutant in (
            ("== (caller.host.name, caller.agent_name)", "!= ()"),
            ("if is_own and not is_subagents and", "if is_own and"),
            ("if has_passed is None or session is None:", "if True:"),
        )
    ),
    # The gateway: input that a client was not asked for.
    *(
        Mutant(f"bot/answerback_agents/mcp_proxy/{file}.py", line, mutant, _GATEWAY)
        for file, line, mutant in (
            ("open_rounds", "given.keys() <= each.shown:", "True:"),
            ("open_rounds", "self._rounds.remove(each)", "pass"),
            ("gateway", "if opened is None:", "if False:"),
            ("gateway", "and self._rounds.updates_task(message):", "and True:"),
            ("messages", "again, vendor_meta(request), state]", "again, state]"),
        )
    ),
    # The gateway: a call that people have changed stays changed, and fits the tool's schema.
    *(
        Mutant(file, line, mutant, _EDITED_CALLS)
        for file, line, mutant in (
            (f"{_GATE}/gateway.py", "if opened.edited is not None:", "if False:"),
            (
                f"{_GATE}/gateway.py",
                "        if verdict.decision is Decision.DENY:",
                "        if False:",
            ),
            (
                "bot/answerback/dialects/approvals/mcp_proxy.py",
                "schema=call.at(_SCHEMA).value",
                "schema=None",
            ),
        )
    ),
    # A file of a person: called after its id, whole, private, and never through a link.
    *(
        Mutant("bot/answerback_agents/pipe/saved_files.py", line, mutant, _SAVED)
        for line, mutant in (
            ("or _ID.fullmatch(file_id) is None:", "or _ID.match(file_id) is None:"),
            ("_ENDING.fullmatch(named)", "_ENDING.match(named)"),
            ("or hashlib.sha256(data).hexdigest() != digest:", "or False:"),
            ("os.O_WRONLY | os.O_CREAT | os.O_EXCL", "os.O_WRONLY | os.O_CREAT"),
            ("_NEW, 0o600, dir_fd=folder", "_NEW, 0o644, dir_fd=folder"),
            ("status.st_nlink != 1:", "False:"),
            ("!= 0o600 or status", "< 0 or status"),
            ("os.mkdir(name, 0o700, dir_fd=descriptor)", "os.mkdir(name, dir_fd=descriptor)"),
            (
                "_FOLDER: Final = os.O_RDONLY | os.O_NOFOLLOW |",
                "_FOLDER: Final = os.O_RDONLY |",
            ),
            ("or stat.S_IMODE(status.st_mode) & 0o077:", "or False:"),
        )
    ),
    # A picture of the session's folder: nothing hidden, nothing elsewhere, no other kind of file.
    *(
        Mutant("bot/answerback_client/folder_pictures.py", line, mutant, _FOLDER)
        for line, mutant in (
            ("(root / named).resolve(strict=True).relative_to(root)", "Path(named)"),
            ("parts = (*PurePosixPath(named).parts, *relative.parts)", "parts = relative.parts"),
            (
                "parts = (*PurePosixPath(named).parts, *relative.parts)",
                "parts = PurePosixPath(named).parts",
            ),
            ("os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC", "os.O_RDONLY | os.O_CLOEXEC"),
            ("not stat.S_ISREG(status.st_mode) or", "False or"),
            ("<= MAX_FILE and is_picture(data)", "<= MAX_FILE and True"),
            ("[: _MAX_FILES - len(taken)]", "[:]"),
            ("and len(data) <= room", "and True"),
        )
    ),
    Mutant(
        f"{_SERVICE}/submission_reader.py",
        "if isinstance(planned, Plan) and planned.is_open_to_anyone:",
        "if False:",
        (f"{_MCP_TESTS}/test_files_mcp.py",),
    ),
    Mutant(
        "bot/answerback_hosts/claude/answers.py",
        "if is_question and has_folder",
        "if has_folder",
        (f"{_UNIT}/hooks/test_hook_pictures.py",),
    ),
    # Droid: of two plans in one call, neither can be changed.
    Mutant(
        "bot/answerback_hosts/droid/approval.py",
        "return len({str(each.value) for each in plans}) == 1",
        "return bool(plans)",
        (f"{_UNIT}/api/test_droid_plans.py",),
    ),
)

"""Changes of what the platforms' errors mean, and of how their connections are followed."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHAT = "tests/unit/adapters/chat"
_PENDING = f"{_CHAT}/test_pending_deliveries.py"
_SLACK_ERRORS = "adapters/answerback_slack/errors.py"
_DISCORD_ERRORS = "adapters/answerback_discord/errors.py"
_SLACK_MODALS = "tests/unit/adapters/slack/test_submitted_files.py"
_SLACK_FILES = "tests/unit/adapters/slack/test_sent_files.py"
_DISCORD_FILES = "tests/unit/adapters/discord/test_sent_files.py"
_TELEGRAM_FILES = "tests/unit/adapters/telegram/test_sent_files.py"
_SLACK = ("tests/unit/adapters/slack/test_errors.py",)
_TELEGRAM = ("tests/unit/adapters/telegram/test_errors.py",)
_DISCORD = ("tests/unit/adapters/discord/test_errors.py",)

ADAPTERS = (
    # A note goes with the ticks that its author saw.
    Mutant(
        "adapters/answerback_chat/selection_drafts.py",
        "if seen.endswith(selection_digest(selected)):",
        "if True:",
        (
            "tests/unit/adapters/telegram/test_typed_entries.py::test_a_note_goes_with_what_was_ticked_before",
        ),
    ),
    # Files that people send come from the platform alone, and only from those who may answer.
    Mutant(
        "adapters/answerback_slack/sent_files.py",
        "is_own=self._is_own,",
        "is_own=lambda _url: True,",
        (f"{_SLACK_FILES}::test_no_other_address_is_asked_and_none_gets_the_token",),
    ),
    Mutant(
        "adapters/answerback_slack/sent_files.py",
        "or (response.status == 200 and is_page)",
        "or False",
        (
            f"{_SLACK_FILES}::test_without_the_scope_slacks_sign_in_page_is_never_taken_for_the_file",
        ),
    ),
    Mutant(
        "adapters/answerback_slack/file_objects.py",
        'each.get("is_external") or ',
        "",
        (f"{_SLACK_FILES}::test_only_files_whose_bytes_slack_has_are_files",),
    ),
    Mutant(
        "adapters/answerback_slack/pictures.py",
        'at_home and "@" not in parts.netloc',
        "at_home",
        ("tests/unit/adapters/slack/test_pictures.py",),
    ),
    Mutant(
        "adapters/answerback_chat/file_download.py",
        "allow_redirects=False",
        "allow_redirects=True",
        (f"{_CHAT}/test_sent_files.py",),
    ),
    Mutant(
        "adapters/answerback_chat/file_download.py",
        "if not is_own(url):",
        "if False:",
        (f"{_CHAT}/test_sent_files.py",),
    ),
    Mutant(
        "adapters/answerback_chat/sent_files.py",
        "if len(data) > MAX_FILE:",
        "if False:",
        (f"{_CHAT}/test_sent_files.py",),
    ),
    Mutant(
        "adapters/answerback_chat/sent_files.py",
        "if (each.size or 0) > MAX_FILE:",
        "if False:",
        (f"{_CHAT}/test_sent_files.py",),
    ),
    Mutant(
        "adapters/answerback_chat/sent_files.py",
        "await self.drop(taken)",
        "pass",
        (f"{_CHAT}/test_sent_files.py",),
    ),
    Mutant(
        "adapters/answerback_chat/sent_files.py",
        "if isinstance(asked, Rejected) or asked.repeated:",
        "if isinstance(asked, Acted) and asked.repeated:",
        (f"{_SLACK_FILES}::test_nothing_is_read_of_who_may_not_answer_and_not_before_it_is_used",),
    ),
    Mutant(
        "adapters/answerback_chat/typed_messages.py",
        "async with self._locks.setdefault(message.delivery, asyncio.Lock()):",
        "async with asyncio.Lock():",
        (f"{_SLACK_FILES}::test_a_message_that_arrives_twice_is_read_and_counts_once",),
    ),
    Mutant(
        "adapters/answerback_chat/pending_deliveries.py",
        "return 0.0 if is_of_dead else max(until - now, 0.0)",
        "return 0.0",
        (f"{_PENDING}::test_a_delivery_belongs_to_one_process_until_its_lease_ends",),
    ),
    Mutant(
        "adapters/answerback_chat/pending_deliveries.py",
        "if key in self._deciding:",
        "if owner == self._owner:",
        (f"{_PENDING}::test_a_process_takes_what_it_failed_to_decide_again",),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        "await self.pending.change(_key(modal), lambda _: body)",
        "pass",
        (f"{_DISCORD_FILES}::test_a_modal_with_files_is_acknowledged_before_they_are_read",),
    ),
    Mutant(
        "adapters/answerback_slack/submitted_files.py",
        "await self.pending.change(key, lambda _: {**used.body})",
        "pass",
        (
            f"{_SLACK_MODALS}"
            "::test_a_modal_that_was_acknowledged_is_decided_after_its_process_has_died",
        ),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        "parts.hostname in limits.CDN_HOSTS",
        'str(parts.hostname).startswith("cdn.discordapp.com")',
        (f"{_DISCORD_FILES}::test_only_discords_own_hosts_and_a_set_api_are_read_from",),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        'parts.scheme == "https" and parts',
        "parts",
        (f"{_DISCORD_FILES}::test_only_discords_own_hosts_and_a_set_api_are_read_from",),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        'if "@" in parts.netloc:',
        'if "@@" in parts.netloc:',
        (f"{_DISCORD_FILES}::test_only_discords_own_hosts_and_a_set_api_are_read_from",),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        "api_url != API_URL and ",
        "",
        (f"{_DISCORD_FILES}::test_only_discords_own_hosts_and_a_set_api_are_read_from",),
    ),
    Mutant(
        "adapters/answerback_discord/sent_files.py",
        "if isinstance(files, Rejected):",
        "if False:",
        (f"{_DISCORD_FILES}::test_files_of_a_form_that_comes_too_late_are_not_read",),
    ),
    Mutant(
        "adapters/answerback_telegram/sent_files.py",
        "if isinstance(files, Rejected):",
        "if False:",
        (f"{_TELEGRAM_FILES}::test_files_for_a_request_to_somebody_else_are_not_read",),
    ),
    # A message that comes again is entered once.
    Mutant(
        "adapters/answerback_telegram/adapter.py",
        "if entry.after == typed.delivery:",
        "if False:",
        (f"{_TELEGRAM_FILES}::test_an_input_that_comes_again_is_not_the_next_one",),
    ),
    Mutant(
        "adapters/answerback_chat/typed_entries.py",
        "await self._asks.save_draft(dealt_with_key(click.delivery), value=True)",
        "pass",
        (f"{_TELEGRAM_FILES}::test_an_input_that_comes_again_is_not_the_next_one",),
    ),
    Mutant(
        "adapters/answerback_telegram/file_messages.py",
        "if not typed.is_edit and typed.id not in self._albums.get(key, {typed.id: typed}):",
        "if False:",
        (
            f"{_TELEGRAM_FILES}::test_a_part_that_is_stored_while_its_album_is_taken_for_whole_is_said",
        ),
    ),
    Mutant(
        "adapters/answerback_telegram/api_client.py",
        "is_own=lambda _: is_below",
        "is_own=lambda _: True",
        (f"{_TELEGRAM_FILES}::test_no_path_leads_away_from_the_files",),
    ),
    # A changed call is allowed only as its person has read it.
    Mutant(
        "adapters/answerback_web/edit_post.py",
        "post.do is PageAction.CHANGE or not chosen or not has_read",
        "post.do is PageAction.CHANGE or not chosen",
        ("tests/unit/adapters/web/test_changed_calls.py",),
    ),
    # Agent sessions: one status at a time.
    Mutant(
        "adapters/answerback_slack/agent_status.py",
        "async with self._locks.setdefault(session, asyncio.Lock()):",
        "async with asyncio.Lock():",
        ("tests/unit/adapters/slack/test_agent_status.py",),
    ),
    # Home tabs: what a person did meanwhile counts.
    Mutant(
        "adapters/answerback_slack/inbox.py",
        "lambda now: left if now == before else now",
        "lambda now: left",
        ("tests/unit/adapters/slack/test_home_races.py",),
    ),
    Mutant(
        "adapters/answerback_slack/inbox.py",
        "if ask.id in listed:",
        "if False:",
        (
            "tests/unit/adapters/slack/test_inbox.py"
            "::test_an_open_home_loses_an_ask_that_is_escalated_to_others",
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
    Mutant(
        _DISCORD_ERRORS, "INVALID_WEBHOOK_TOKEN = 50027", "INVALID_WEBHOOK_TOKEN = 50028", _DISCORD
    ),
    *(
        Mutant("adapters/answerback_telegram/errors.py", line, mutant, _TELEGRAM)
        for line, mutant in (
            ('"is too long",', ""),
            ('"no rights", ', ""),
            ('"group chat was deleted"', '"group chat was removed"'),
            ('"user is deactivated":', '"user was deactivated":'),
            ("if isinstance(error, BadRequest) else DestinationGoneError", ""),
        )
    ),
    # What is done at a stop, and when a connection is lost.
    *(
        Mutant(f"adapters/answerback_chat/{name}.py", line, mutant, (f"{_CHAT}/test_{name}.py",))
        for name, line, mutant in (
            (
                "leader_lease",
                "await self._renewing.stop(_END_TIMEOUT)",
                "await self._renewing.stop(0)",
            ),
            ("catch_up", "self._gap = not self._connected", "self._gap = False"),
            ("catch_up", "self._cancel_unconfirmed_read()  # this", "pass  # this"),
        )
    ),
    Mutant(
        "adapters/answerback_telegram/connection.py",
        "if _has_failed(task):",
        "if _has_failed(task) and self._handling.pop(number):",
        ("tests/unit/adapters/telegram/test_polling.py",),
    ),
)

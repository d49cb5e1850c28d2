"""Changes of the core, and of how it is used: answers, grants and confirmations."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CORE = "bot/answerback/core"
_SERVICE = "bot/answerback/service"
_SQLITE = "storage/answerback_storage/sqlite"
_UNIT = "tests/unit/bot"
_ANSWERS = (f"{_UNIT}/core/test_answers.py",)
_CONFIRMATIONS = (f"{_UNIT}/api/test_confirmations.py", f"{_UNIT}/service/test_confirmations.py")
_DECIDING = (
    "tests/acceptance/test_chaos_deciding.py"
    "::test_people_decide_together_while_processes_are_killed[sqlite]",
)
_UNSEEN = (f"{_UNIT}/api/test_unseen.py",)
_FILES = (f"{_UNIT}/service/test_files.py",)
_PEOPLE_FILES = (f"{_UNIT}/service/test_people_files.py",)
_FILES_SERVED = (f"{_UNIT}/api/test_files.py",)
_GRANTS = (f"{_UNIT}/core/test_grants.py",)
_GRANTS_OF_HOSTS = (f"{_UNIT}/core/test_grants_of_hosts.py",)
_GRANTS_SERVED = (f"{_UNIT}/api/test_grants.py", f"{_UNIT}/api/test_grants_end.py")
_STORED = "tests/unit/storage/test_store_contract.py::TestSqliteStore"
_GRANTS_STORED = (
    f"{_STORED}::test_each_use_is_counted_once_and_with_its_ask",
    f"{_STORED}::test_a_use_outside_its_time_is_none",
    f"{_STORED}::test_a_revoked_grant_is_used_no_more",
)

CORE = (
    # Answers: what fits a question.
    Mutant("bot/answerback_base/strict_json.py", "return a is b", "return a == b", _ANSWERS),
    Mutant(
        "bot/answerback_base/strict_json.py",
        "return len(a) == len(b) and all(map(json_equal, a, b))",
        "return all(map(json_equal, a, b))",
        _ANSWERS,
    ),
    # What nobody knows is allowed by nobody at once.
    Mutant(
        f"{_CORE}/intents.py",
        "    if allow and question.nothing_known:",
        "    if False and question.nothing_known:",
        _UNSEEN,
    ),
    Mutant(
        f"{_CORE}/unseen.py",
        "if question is None or action.unseen or not question.allows_unseen(action.value):",
        "if True or question is None:",
        _UNSEEN,
    ),
    # Nobody sends a file of somebody else, and no agent reads what it may not read yet.
    *(
        Mutant(f"{_SERVICE}/people_files.py", line, mutant, _PEOPLE_FILES)
        for line, mutant in (
            ("or stored.agent != uploader", ""),
            ("or stored.ask_id not in {None, ask_id}", ""),
            ("or (stored.ask_id is None and stored.at < since)", ""),
            (
                "return None if found is None or found.agent != uploader_name(person) else found.file",
                "return None if found is None else found.file",
            ),
            ("return remove_metadata(kind.media_type, data)", "return data"),
        )
    ),
    Mutant(
        "bot/answerback/api/files.py",
        'is_its_own = (ask.request.agent or "") == agent',
        "is_its_own = True",
        (f"{_UNIT}/api/test_answer_files.py",),
    ),
    *(
        Mutant(
            f"bot/answerback/api/{file}.py", line, mutant, (f"{_UNIT}/api/test_answer_files.py",)
        )
        for file, line, mutant in (
            ("files", "    if is_named:", "    if False:"),
            ("files", "if query.user_id is None or query.surface is None:", "if False:"),
        )
    ),
    Mutant(
        f"{_SQLITE}/asks.py",
        "if db.execute(claim, (new.id, file_id)).rowcount != 1:",
        "if not db.execute(claim, (new.id, file_id)):",
        (f"{_STORED}::test_an_answer_claims_all_of_its_files_or_is_not_stored",),
    ),
    # What comes with files is decided by who has seen them.
    *(
        Mutant(file, line, mutant, _FILES)
        for file, line, mutant in (
            (f"{_CORE}/intents.py", "if allow and ask.request.files:", "if False:"),
            (
                f"{_SERVICE}/question_routing.py",
                "if rule.answer is not None and not ask.request.files:",
                "if rule.answer is not None:",
            ),
            (
                f"{_SERVICE}/grants.py",
                "if body.is_rewritten or body.files:",
                "if body.is_rewritten:",
            ),
            (
                f"{_CORE}/controls.py",
                "digest = ask.form.digest_of(question, request.files)",
                "digest = ask.form.digest_of(question)",
            ),
        )
    ),
    Mutant(
        "bot/answerback/api/files.py",
        "return ask is not None and call.may_see(ask)",
        "return True",
        _FILES_SERVED,
    ),
    Mutant(
        "bot/answerback/api/files.py",
        "if call.is_from_agent and stored.agent == agent:",
        "if call.is_from_agent:",
        _FILES_SERVED,
    ),
    Mutant(
        "adapters/answerback_web/page_access.py",
        "if match is None or int(match[3]) <= now:",
        "if match is None:",
        ("tests/unit/adapters/web/test_files.py",),
    ),
    Mutant(
        "adapters/answerback_web/page_access.py",
        "self.secret if holder is None else holder.link_secret",
        "self.secret",
        ("tests/unit/adapters/web/test_files.py",),
    ),
    Mutant(
        "adapters/answerback_web/site.py",
        "target.is_link and self.has_link_ended(ask)",
        "False",
        ("tests/unit/adapters/web/test_files.py",),
    ),
    Mutant(
        "adapters/answerback_web/ask_page.py",
        "if opened[0].is_revoked and opened[1] is None:",
        "if False:",
        ("tests/unit/adapters/web/test_files.py",),
    ),
    Mutant(
        f"{_SQLITE}/asks.py",
        "if count < len(ids):",
        "if not count:",
        (f"{_STORED}::test_a_new_ask_claims_all_of_its_files_or_is_not_stored",),
    ),
    # Asks: an outcome, its revision and what belongs to it.
    Mutant(
        f"{_CORE}/clarification.py",
        "if question_id is None or not can_ask_back(ask):",
        "if question_id is None:",
        (f"{_UNIT}/api/test_clarification.py",),
    ),
    *(
        Mutant(f"{_CORE}/ask.py", line, mutant, (f"{_UNIT}/core/test_ask.py",))
        for line, mutant in (
            ("last_actor=by or ask.last_actor,", "last_actor=by,"),
            (
                "last_action_revision=ask.revision + 1 if by else ask.last_action_revision,",
                "last_action_revision=ask.revision + 1,",
            ),
            ("return place.confirmers if self.confirming and is_limited else", "return"),
            ("return self.participants if self.confirming else", "return"),
            (
                "self.placement.place_before is not None or self.to_retire is not None",
                "self.placement.place_before is not None",
            ),
            ("escalation is None or self.schedule.escalated or", "escalation is None or"),
            (
                "self.created_at - self.schedule.clock_set_back + escalation.after",
                "self.created_at + escalation.after",
            ),
            (
                "return None if seconds is None else began",
                "return None if seconds is None else self.created_at",
            ),
            (
                "return began + reminders[number] if",
                "return self.created_at + reminders[number] if",
            ),
            (
                "if status in {Status.CANCELLED, Status.TURN_ENDED} else",
                "if status is Status.CANCELLED else",
            ),
            ("self.grant.number and not self.erased_at", "self.grant.number"),
        )
    ),
    Mutant(
        "bot/answerback/ports/message_state.py",
        "replace(kept.schedule, expires_at=ask.schedule.expires_at - set_back)",
        "kept.schedule",
        (f"{_UNIT}/webhooks/test_clock_set.py",),
    ),
    Mutant(
        f"{_CORE}/ask.py",
        "            return began",
        "            return self.created_at",
        (f"{_UNIT}/webhooks/test_clock_set.py",),
    ),
    # Plain words: what they deny, and that none allows.
    *(
        Mutant(f"{_CORE}/typed_answers.py", line, mutant, (f"{_UNIT}/core/test_typed_answers.py",))
        for line, mutant in (
            ("deny = question.sole_option(OptionKind.DENY)", "deny = question.options[0]"),
            ("and plain_word(text) in DENIALS:", ":"),
        )
    ),
    # Grants: what is certainly the same, and for how long.
    *(
        Mutant(f"bot/answerback/dialects/{file}", line, mutant, _GRANTS_OF_HOSTS)
        for file, line, mutant in (
            ("approval.py", "option.description, *sent]", "option.description]"),
            ("approvals/unseen_fields.py", "and (*path, key) not in skipped", ""),
        )
    ),
    Mutant(f"{_CORE}/grants.py", "if has_rewritten_numbers([", "if not ([", _GRANTS),
    Mutant(
        f"{_SERVICE}/grants.py",
        "if body.is_rewritten or body.files:",
        "if body.files:",
        _GRANTS_SERVED,
    ),
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
            ("whole = [*asker, *host,", "whole = [*host,"),
            ("host = [call.request, call.tool,", "host = [call.tool,"),
            ("call.request, call.tool, call.server, call", "call.request, call.server, call"),
            ("call.tool, call.server, call.others]", "call.tool, call.others]"),
            ("call.server, call.others]", "call.server]"),
            ("*host, candidate.match, candidate.same]", "*host, candidate.match]"),
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
            ("AND used = $2 - 1 AND used < uses", "AND used < uses"),
            (
                "AND at <= $3 AND until > $3 AND ended_at IS NULL",
                "AND at <= $3 AND ended_at IS NULL",
            ),
            ("AND until > $3 AND ended_at IS NULL", "AND until > $3"),
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
            (
                "confirmation",
                "if any(people.may_be_same(by, each) for each in requesters):",
                "if False:",
            ),
            (
                "confirmation",
                "if not is_other and (requesters or not people.is_known(by, at)):",
                "if False:",
            ),
            ("confirmation", "for each in (*answerers, *voters)):", "for each in ()):"),
            ("walker", "len(votes) >= form.confirmation.due", "len(votes) > 0"),
            ("clarification", "walk=replace(ask.walk, votes=()),", "walk=ask.walk,"),
        )
    ),
    # Confirmations, as whole processes keep them while they are killed, and as a quick test notices the same.
    *(
        Mutant(file, line, mutant, tests, slow)
        for file, line, mutant, quick in (
            (
                "storage/answerback_storage/rows.py",
                "return ask if ask.erased_at is None else replace(ask, request=erase_request(request))",
                "return replace(ask, walk=replace(ask.walk, votes=2 * ask.walk.votes))",
                _CONFIRMATIONS,
            ),
            (
                f"{_CORE}/people.py",
                "return name is not None and name == self.name_of(other)",
                "return False",
                (f"{_UNIT}/core/test_people.py",),
            ),
            (
                f"{_CORE}/secrecy.py",
                "return ask.form.confirmation is not None and ask.status is not Status.ANSWERED",
                "return ask.confirming",
                (f"{_UNIT}/core/test_secrecy.py",),
            ),
            (
                f"{_SERVICE}/record_wire.py",
                "if stored.entry.kind in kinds and not",
                "if not",
                _CONFIRMATIONS,
            ),
            (
                f"{_SQLITE}/change_batches.py",
                "if (digest := self._batch.seen(self.delivery)) is not None:",
                "if False and (digest := self._batch.seen(self.delivery)) is not None:",
                (f"{_STORED}::test_a_repeated_delivery_writes_nothing_and_is_reported",),
            ),
        )
        for tests, slow in ((_DECIDING, True), (quick, False))
    ),
)

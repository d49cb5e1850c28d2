"""Changes of who may act and call, and of webhooks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SERVICE = "bot/answerback/service"
_TEAMS = "bot/answerback_teams"
_OUTBOX = "bot/answerback/outbox"
_WEBHOOKS = "bot/answerback_webhooks"
_UNIT = "tests/unit/bot"
_FORGED = "tests/unit/adapters/telegram/test_forged_clicks.py"
_ACTING = (f"{_UNIT}/service/test_service.py", f"{_UNIT}/service/test_submission.py")
_DELIVERED = f"{_UNIT}/service/test_delivery.py"
_AUTHORIZED = (f"{_UNIT}/api/test_tokens.py", f"{_UNIT}/api/test_actions.py")
_ADDRESSES = (f"{_UNIT}/service/test_callbacks.py", f"{_UNIT}/webhooks/test_webhook_isolation.py")

SERVICE = (
    # A press counts where the ask is, and a list tells nobody who sees a channel.
    Mutant(
        "bot/answerback/service/act_or_refuse.py",
        "is_here = ask.is_asked_in(intent.place)",
        "is_here = True",
        (f"{_FORGED}::test_a_press_counts_only_in_the_chat_of_the_ask",),
    ),
    Mutant(
        "bot/answerback/core/ask.py",
        "if place == LISTED and self.placement.destination.channel is not None:",
        "if False:",
        (f"{_FORGED}::test_a_forged_tick_in_an_inbox_decides_nothing_that_is_not_listed",),
    ),
    # Whoever stands in for a person who is away confirms nothing of theirs, and gets no more than a hand over gives.
    *(
        Mutant(path, line, mutant, ("tests/unit/bot/away/test_standing_in.py",))
        for path, line, mutant in (
            (
                "bot/answerback/service/decisions.py",
                "if stands_in_for_any(ask, by, ask.walk.answerers, now.people):",
                "if False:",
            ),
            (
                "bot/answerback/core/handing_over.py",
                "stand_ins=(*ask.placement.stand_ins, _group(stands_in, to, place.surface))",
                "stand_ins=ask.placement.stand_ins",
            ),
            (
                "bot/answerback_away/away.py",
                "if is_collective(user_id) or (chain := self.chain_for(person, now)) is None:",
                "if (chain := self.chain_for(person, now)) is None:",
            ),
            (
                "bot/answerback_away/away.py",
                "if chain_of(person, absent, self.people.is_same) is None:",
                "if False:",
            ),
            (
                "bot/answerback_away/away.py",
                "if not absent or self._has_stood_in(ask, person, stand_in):",
                "if not absent:",
            ),
            (
                "bot/answerback_away/away.py",
                "return not stands_in and not {*ids}.isdisjoint(place.responders)",
                "return not {*ids}.isdisjoint(place.responders)",
            ),
        )
    ),
    # Nobody snoozes, or reads of, what does not wait for them.
    *(
        Mutant(
            "bot/answerback_away/snoozes.py",
            line,
            mutant,
            ("tests/unit/bot/away/test_snoozing.py",),
        )
        for line, mutant in (
            (
                "return ask if await self._lists.is_waiting_for(person, ask) else None",
                "return ask",
            ),
            ("if await self._lists.is_waiting_for(person, ask):", "if True:"),
        )
    ),
    # Who may confirm from another surface does so once the answers are complete, by an account that counts.
    *(
        Mutant(
            "bot/answerback/service/may_act.py",
            line,
            mutant,
            (f"{_UNIT}/service/test_confirmers_elsewhere.py",),
        )
        for line, mutant in (
            ("return ask.confirming and is_account_elsewhere", "return is_account_elsewhere"),
            (
                "if people.counts_for_confirmations(actor.person, now) and is_account",
                "if is_account",
            ),
        )
    ),
    Mutant(
        "bot/answerback/core/ask.py",
        "is_limited = place.confirmers or place.confirmers_elsewhere",
        "is_limited = place.confirmers",
        (f"{_UNIT}/service/test_confirmers_elsewhere.py",),
    ),
    Mutant(
        "bot/answerback/service/submission_confirmers.py",
        "if len(answering) == len(responders) and not any(map(people.name_of, answering)):",
        "if False:",
        (f"{_UNIT}/service/test_confirmers_elsewhere.py",),
    ),
    Mutant(
        "bot/answerback/service/submission_confirmers.py",
        'return name if known is None else f"{PERSON_PREFIX}{known}"',
        "return name",
        (f"{_UNIT}/service/test_confirmers_elsewhere.py",),
    ),
    # Who is given an ask is a person, as the platform says, where the ask is.
    Mutant(
        "bot/answerback/service/handing_over.py",
        "if recipient.is_person is False:",
        "if False:",
        (f"{_UNIT}/service/test_handing_over.py",),
    ),
    Mutant(
        "bot/answerback/service/handing_over.py",
        "if recipient is None or account_id(recipient.actor.person) != account_id(there):",
        "if recipient is None:",
        (f"{_UNIT}/service/test_handing_over.py",),
    ),
    # A message where an ask was counts only if nothing has happened but the move.
    Mutant(
        "bot/answerback/service/may_act.py",
        "revision == before.revision == ask.revision - 1",
        "revision == before.revision",
        (f"{_UNIT}/service/test_may_act.py",),
    ),
    # Showing: what another process may still change.
    Mutant(
        "bot/answerback/workers/message_sync.py",
        "self._started or ask.placement.shown_revision < ask.revision - 1",
        "self._started",
        (f"{_UNIT}/workers/test_lost_claims.py",),
    ),
    # Reminding: one that hangs delays no other.
    Mutant(
        "bot/answerback/workers/reminders.py",
        "async with asyncio.timeout(timeout):",
        "async with asyncio.timeout(None):",
        (f"{_UNIT}/workers/test_deadlines.py",),
    ),
    # Deadlines that crash: an ask ends all the same, and none before its deadline.
    *(
        Mutant(f"bot/answerback/{file}", line, mutant, (f"{_UNIT}/workers/test_crashes.py",))
        for file, line, mutant in (
            ("workers/scheduler.py", "if times < MAX_DEADLINE_CRASHES:", "if True:"),
            ("service/expiry.py", "or at < ask.schedule.expires_at:", "or False:"),
            ("workers/crashes.py", "now >= crashed.again and not", "not"),
            ("workers/crashes.py", "crashed.times >= MAX_CRASHES and", "False and"),
        )
    ),
    # An approval without a choice allows nothing.
    Mutant(
        f"{_SERVICE}/consumption.py",
        "by_people and bool(kinds) and",
        "by_people and",
        (f"{_UNIT}/service/test_after_receipts.py",),
    ),
    # Moves: an ask returns from where nobody can be reached.
    Mutant(
        f"{_SERVICE}/service.py",
        "if (before := latest.placement.place_before) is not None:",
        "if (before := None) is not None:",
        (f"{_UNIT}/workers/test_undone_moves.py",),
    ),
    # It does not return to where nothing can be posted any more.
    Mutant(
        f"{_SERVICE}/service.py",
        "return fail(back.ask, at, back.entries) if before.is_closed else back",
        "return back",
        ("tests/unit/adapters/telegram/test_migrated_groups.py",),
    ),
    Mutant(
        "bot/answerback/core/escalation.py",
        "if before.is_closed:",
        "if False:",
        ("tests/unit/adapters/telegram/test_migrated_groups.py",),
    ),
    # Confirming what was answered in a direct message: everybody who may is told, and nobody twice.
    *(
        Mutant(
            f"bot/answerback/core/{file}",
            line,
            mutant,
            (f"{_UNIT}/service/test_direct_messages.py",),
        )
        for file, line, mutant in (
            ("confirmer_copies.py", "and each != place.user)", ")"),
            ("confirmer_copies.py", "not is_collective(each)", "True"),
            (
                "confirmer_copies.py",
                "if number == ask.schedule.reminders_done_before:",
                "if False:",
            ),
        )
    ),
    # Notifying: an ask that moves leaves a surface.
    Mutant(
        f"{_SERVICE}/notify.py",
        "self._surfaces if is_anywhere else (ask.placement.destination.surface,)",
        "(ask.placement.destination.surface,)",
        ("tests/unit/adapters/web/test_people.py",),
    ),
    # Acting: late, stale, foreign and repeated actions.
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "if ask is None or intent.surface not in {None, ask.placement.destination.surface}:",
        "if ask is None:",
        (
            *_ACTING,
            "tests/unit/adapters/chat/test_live_message.py",
            f"{_UNIT}/service/test_service_edge_cases.py",
        ),
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "if (refused := self._refused(intent, row, actor, ask)) is not None:",
        "if (refused := self._refused(intent, row, actor, ask)) is not None and False:",
        _ACTING,
    ),
    *(
        Mutant(f"{_SERVICE}/decisions.py", line, mutant, (f"{_UNIT}/{test}",))
        for line, mutant, test in (
            (
                "may_act.is_too_new(refused, now.actor, now.ask, now.people, now.at):",
                "False:",
                "teams/test_account_links.py",
            ),
            (
                "HandOver: Row(_hand_over, Who.RESPONDERS,",
                "HandOver: Row(_hand_over,",
                "service/test_handing_over.py",
            ),
            (
                "TryAgain: Row(_try_again, is_for_ended=True,",
                "TryAgain: Row(_try_again,",
                "api/test_too_late.py",
            ),
        )
    ),
    Mutant(
        f"{_SERVICE}/decisions.py",
        "if action.remember and not offers_to_remember(ask):",
        "if action.remember and False:",
        _ACTING,
    ),
    Mutant(
        f"{_SERVICE}/act_or_refuse.py",
        "may_act.refused_to_confirm(actor, ask, people, at) or change",
        "change",
        (f"{_UNIT}/api/test_confirmations.py",),
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
        (_DELIVERED,),
    ),
    *(
        Mutant(f"{_SERVICE}/act_or_refuse.py", line, mutant, (f"{_UNIT}/{test}",))
        for line, mutant, test in (
            (
                "if intent.revision not in {None, ask.revision}:",
                "if False:",
                "service/test_service.py",
            ),
            (
                "return named and actor.ids is None",
                "return named",
                "service/test_people_across_surfaces.py",
            ),
            (
                "if actor.ids is None and actor.person.via is None:",
                "if False:",
                "service/test_people_across_surfaces.py",
            ),
            ("if actor.ids == ():", "if False:", "teams/test_account_links.py"),
            ("if with_groups is None:", "if False:", "service/test_handing_over.py"),
            ("RejectReason.STALE if resolved.early else", "", "service/test_service_typed.py"),
            (
                "replace(wanted.grant, credential=await self._credential_of(actor.person))",
                "wanted.grant",
                "api/test_grants.py",
            ),
            (
                "if owed := owed and not isinstance(change.grant, GrantEnd):",
                "if owed:",
                "api/test_grants_end.py",
            ),
            (
                "await self._wait_until_reported(intent.ask_id)",
                "pass",
                "service/test_approval_leases.py",
            ),
        )
    ),
    # Authorization: who is calling.
    Mutant(
        "bot/answerback/api/auth.py",
        "agent for known, agent in self._agents.items() if hmac.compare_digest(known, hashed)",
        "agent for known, agent in self._agents.items()",
        _AUTHORIZED,
    ),
    Mutant(
        "bot/answerback/api/auth.py",
        "if not self.required:",
        "if True:",
        _AUTHORIZED,
    ),
    Mutant(
        "bot/answerback/api/auth.py",
        'if agent.name == name and agent.role == "surface"',
        "if agent.name == name",
        (f"{_UNIT}/api/test_tokens.py",),
    ),
    Mutant(
        "bot/answerback/api/auth.py",
        "if (known := await extension.find_agent(token)) is not None:",
        "if (known := None) is not None:",
        (f"{_UNIT}/api/test_oauth.py",),
    ),
    # Links of accounts, and agents that people connect.
    Mutant(
        f"{_TEAMS}/account_links.py",
        "if old is not None and old.ended_at is None and (await self._validity())(old):",
        "if False:",
        (f"{_UNIT}/teams/test_account_pages.py",),
    ),
    *(
        Mutant(f"{_TEAMS}/{file}.py", line, mutant, (f"{_UNIT}/teams/{test}.py",))
        for file, line, mutant, test in (
            (
                "account_links",
                "if by is None or account_id(by) != account:",
                "if by is None:",
                "test_account_links",
            ),
            (
                "typed_codes",
                "return len(guesses) >= self._limit.each",
                "return False",
                "test_sign_ins",
            ),
            (
                "typed_codes",
                "if self._in_all and self._in_all.pause(account) is not None:",
                "if False:",
                "test_sign_ins",
            ),
            (
                "account_links",
                "or started.code != code or not is_theirs:",
                "or started.code != code:",
                "test_account_links",
            ),
            (
                "account_links",
                "keys.get(link.page.user_id) == link.credential",
                "True",
                "test_account_links",
            ),
            (
                "sign_ins",
                "is not SignInState.PENDING or not is_shown:",
                "is not SignInState.PENDING:",
                "test_sign_ins",
            ),
            (
                "sign_ins",
                "if sign_in is None or not _is_same(sign_in.seen_by, person):",
                "if sign_in is None:",
                "test_sign_ins",
            ),
            (
                "sign_ins",
                "is_known = await self._credential_of(owner) == credential",
                "is_known = True",
                "test_sign_ins_end",
            ),
            (
                "sign_ins",
                "if found is None or self._clock.now() >= found.until:",
                "if found is None:",
                "test_sign_ins_end",
            ),
        )
    ),
    # A lease of an approval lapses.
    Mutant(
        f"{_SERVICE}/approval_leases.py",
        "if lapses_at is None or lapses_at > at:",
        "if lapses_at is None:",
        (f"{_UNIT}/service/test_approval_leases.py",),
    ),
    # What is decided after the end is no event for a webhook.
    Mutant(
        f"{_WEBHOOKS}/webhooks.py",
        'kinds = frozenset({"clarify", "ended"})',
        "kinds = None",
        (f"{_UNIT}/api/test_too_late.py",),
    ),
    # Nobody signs in as somebody else, and nobody whom `people` does not name.
    *(
        Mutant(f"bot/answerback_oidc/{module}.py", line, mutant, (f"{_UNIT}/oidc/{test}.py",))
        for module, line, mutant, test in (
            ("tokens", 'if header.get("alg") not in ALGORITHMS:', "if False:", "test_tokens"),
            (
                "tokens",
                "if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), nonce.encode()):",
                "if False:",
                "test_tokens",
            ),
            ("tokens", 'if times["exp"] <= now - LEEWAY:', "if False:", "test_tokens"),
            ("provider", "if is_named and issuer != found.issuer:", "if False:", "test_signing_in"),
            ("provider", "if state in self._used:", "if False:", "test_signing_in"),
            ("provider", "if found.issuer != issuer:", "if False:", "test_extension"),
            ("attempts", "return begun if is_its else None", "return begun", "test_signing_in"),
            (
                "sessions",
                "return is_ours and self._people.name_of(person) is not None",
                "return is_ours",
                "test_signing_in",
            ),
            ("pages", "if not own.sessions.may_sign_in(person):", "if False:", "test_signing_in"),
        )
    ),
    # The chain of receipts: what was changed or removed is found.
    *(
        Mutant(
            "bot/answerback_receipts/checks.py",
            line,
            mutant,
            (f"{_UNIT}/service/test_receipt_chain.py",),
        )
        for line, mutant in (
            ('if link["previous"] != previous:', "if False:"),
            (
                'elif key not in _digests(body["receipt"]["payload"]):',
                "elif False:",
            ),
        )
    ),
    # Webhooks: where they go, how they are signed, and when they are sent again.
    Mutant(
        f"{_OUTBOX}/address_policy.py",
        "effective = _effective_address(parsed)",
        "effective = parsed",
        _ADDRESSES,
    ),
    Mutant(
        f"{_OUTBOX}/address_policy.py",
        "if kind is None and (is_among(parsed, _NOT_GLOBAL) or is_among(effective, _NOT_GLOBAL)):",
        "if False:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_OUTBOX}/address_policy.py",
        'if kind is None or (kind == "private" and self._is_allowed_host(host)):',
        "if kind is None or self._is_allowed_host(host):",
        _ADDRESSES,
    ),
    Mutant(
        f"{_OUTBOX}/address_policy.py",
        'if parsed.scheme not in {"http", "https"}:',
        "if False:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_OUTBOX}/address_policy.py",
        "if parsed.user is not None or parsed.password is not None:",
        "if parsed.user is not None:",
        _ADDRESSES,
    ),
    *(
        Mutant(
            f"{_OUTBOX}/address_policy.py",
            'if ":" in host or _NUMERIC_HOST.fullmatch(host):',
            mutant,
            _ADDRESSES,
        )
        for mutant in ('if ":" in host:', "if _NUMERIC_HOST.fullmatch(host):")
    ),
    Mutant(
        f"{_WEBHOOKS}/sender.py",
        "if not self.secrets_of(agent):",
        "if not self.secrets:",
        _ADDRESSES,
    ),
    Mutant(
        f"{_OUTBOX}/address_policy.py",
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
        f"{_OUTBOX}/attempts.py",
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
        f"{_OUTBOX}/attempts.py",
        "return min(float(value), LONGEST_RETRY_AFTER)",
        "return float(value)",
        (
            f"{_UNIT}/service/test_delivery.py",
            f"{_UNIT}/webhooks/test_delivery_trouble.py",
            *_ADDRESSES,
        ),
    ),
    *(
        Mutant(f"{_OUTBOX}/dispatcher.py", line, mutant, (test,))
        for line, mutant, test in (
            (
                "is DeliveryState.DELIVERED and stored.delivery.brings_outcome:",
                "is DeliveryState.DELIVERED:",
                _DELIVERED,
            ),
            (
                "result.state is DeliveryState.DELIVERED and stored.delivery.brings",
                "stored.delivery.brings",
                _DELIVERED,
            ),
            (
                "if not await self._still_claimed(stored):",
                "if False:",
                f"{_UNIT}/workers/test_shared_work.py",
            ),
            (
                "while not tried or self._is_to_be_sent_again(stored):",
                "while not tried:",
                f"{_UNIT}/webhooks/test_delivery_trouble.py",
            ),
            (
                "if self._is_to_be_sent_again(stored):",
                "if False:",
                f"{_UNIT}/webhooks/test_delivery_trouble.py",
            ),
        )
    ),
    # Groups that are other ones at each place are named for where an ask goes, and for where it goes later.
    *(
        Mutant(
            f"{_SERVICE}/submission_reader.py",
            line,
            mutant,
            (f"{_UNIT}/service/test_place_groups.py",),
        )
        for line, mutant in (
            ("nobody.extend(who if not found else ())", "pass"),
            ("if not _has_place_groups(surface):", "if False:"),
            ("there = escalation.to or here", "there = here"),
            (
                '"responders": named(escalation.responders, there),',
                '"responders": escalation.responders,',
            ),
            (
                '"confirmers": named(escalation.confirmers, there),',
                '"confirmers": escalation.confirmers,',
            ),
            ("confirmers=named(planned.confirmers, here),", "confirmers=planned.confirmers,"),
            (
                "allowed_recipients=planned.allowed_recipients and named(planned.allowed_recipients, here),",
                "allowed_recipients=planned.allowed_recipients,",
            ),
        )
    ),
    # People decide on a number as it was written.
    *(
        Mutant(file, line, mutant, (f"{_UNIT}/api/test_approval_integrity.py",))
        for file, line, mutant in (
            (
                f"{_SERVICE}/submission_reader.py",
                "if body.is_rewritten and parsed.dialect == APPROVAL:",
                "if False:",
            ),
            (
                "bot/answerback/dialects/approvals/arguments_markdown.py",
                "return strict_json.dump_as_written(value, ensure_ascii=False)",
                "return strict_json.json.dumps(value, ensure_ascii=False)",
            ),
        )
    ),
    # A backlog is claimed again in step with its length.
    *(
        Mutant(f"{_OUTBOX}/dispatcher.py", line, mutant, (f"{_UNIT}/outbox/test_backlog.py",))
        for line, mutant in (
            ("endpoint.postponed_count += 1", "pass"),
            ("endpoint.postponed_count = 0", "pass"),
            ("if not endpoint.running:", "if True:"),
            (
                "max(endpoint.postponed_count / _REQUEUES_PER_SECOND, _REQUEUE_DELAY),",
                "_REQUEUE_DELAY,",
            ),
            ("_REQUEUES_PER_SECOND, _REQUEUE_DELAY),", "_REQUEUES_PER_SECOND, 0.0),"),
            ("                _MAX_REQUEUE_SPREAD,", "                99.0,"),
        )
    ),
    *(
        Mutant(
            f"{_SERVICE}/remote_changes.py",
            line,
            "pass",
            (f"{_UNIT}/service/test_remote_changes.py",),
        )
        for line in (
            "self._lost.set()  # also its surface's followers have to look",
            "lost |= self._lost.is_set()",
        )
    ),
    Mutant(
        f"{_SERVICE}/waiters.py",
        "self.presence.note_cut_off(ask_id)",
        "pass",
        (
            f"{_UNIT}/service/test_agent_presence.py"
            "::test_a_call_that_is_cut_off_before_it_waits_counts_as_left_soon",
        ),
    ),
    Mutant(
        f"{_SERVICE}/waiters.py",
        "ask = follower.newest(ask)",
        "pass",
        (f"{_UNIT}/service/test_agent_presence.py",),
    ),
    Mutant(
        "bot/answerback/workers/message_queues.py",
        "self._start_queue(alone, ask_id, retry)",
        "self._start_queue(alone, ask_id, Retry(retry.seconds))",
        (f"{_UNIT}/workers/test_message_queues.py",),
    ),
)

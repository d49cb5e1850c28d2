"""Bugs to plant in the product, each of which the simulation has to find; and how one is planted.

A module is changed while it is imported, in the process of that simulation alone. The files stay as they are.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final, NamedTuple


class Planted(NamedTuple):
    """One changed place of the product."""

    name: str
    module: str
    line: str
    """The text to replace: it occurs once in the file."""
    bug: str
    finds: str
    """The invariant that notices it."""
    faults: tuple[str, ...] = ()
    """The kinds of faults at which it shows; empty: any."""


PLANTED: Final = (
    Planted(
        "a person who may not decides",
        "answerback.service.act_or_refuse",
        "return NeedsGroups(ask, actor, missing) if missing else rejected",
        "return NeedsGroups(ask, actor, missing) if missing else None",
        "MAY",
    ),
    Planted(
        "a click counts at another revision than it was made at",
        "answerback.service.act_or_refuse",
        "if intent.revision not in {None, ask.revision}:",
        "if False:",
        "RECORD",
    ),
    Planted(
        "an idempotency key is forgotten",
        "answerback.service.submit",
        "key = _key(agent, idempotency_key, digest, hook)",
        "key = None",
        "ONCE",
    ),
    Planted(
        "a post with an unknown result is not searched for",
        "answerback_chat.live_message",
        "else:\n            ref = await self._find_and_note(ask, ref, save)",
        "else:\n            pass",
        "ONCE",
    ),
    Planted(
        "a post is not marked before it is sent",
        "answerback_chat.live_message",
        "await save(self.shown(ref, ask.placement.shown_revision))",
        "pass",
        "ONCE",
    ),
    Planted(
        "a reminder is posted again after an unknown result",
        "answerback_chat.live_message",
        "if posted == number:",
        "if False:",
        "ONCE",
    ),
    Planted(
        "a webhook counts as delivered whatever was answered",
        "answerback.outbox.dispatcher",
        "if sent.error is None:\n            return replace(attempted, state",
        "if True:\n            return replace(attempted, state",
        "LIVE",
    ),
    Planted(
        "a webhook is given up after the second try",
        "answerback.outbox.dispatcher",
        "if sent.gone or tries > len(RETRY_DELAYS):",
        "if sent.gone or tries > 1:",
        "LIVE",
    ),
    Planted(
        "a webhook has another id on each try",
        "answerback_webhooks.sender",
        "signature_headers(delivery.id, ",
        "signature_headers(f'{delivery.id}-{at:.0f}', ",
        "WEBHOOK",
    ),
    Planted(
        "a webhook is not stored with its outcome",
        "answerback_storage.sqlite.asks",
        "if write.deliveries:",
        "if write.deliveries and len(write.entries) > 2:",
        "LIVE",
    ),
    Planted(
        "messages that a dead process left outdated stay so",
        "answerback.workers.scheduler",
        "await self.sweep()",
        "pass",
        "SHOWN",
        ("forbid",),
    ),
    Planted(
        "an agent reads answers that nobody has confirmed",
        "answerback.core.secrecy",
        "return ask.form.confirmation is not None and ask.status is not Status.ANSWERED",
        "return False",
        "CONFIRM",
    ),
    Planted(
        "whoever answered can confirm",
        "answerback.core.confirmation",
        "by, voters = vote.by, [each.by for each in votes]",
        "by, voters, answerers = vote.by, [each.by for each in votes], ()",
        "CONFIRM",
    ),
    Planted(
        "a click is acknowledged before it is committed",
        "answerback_slack.http_endpoint",
        "return _response(*await self._on_click(click))",
        "__import__('asyncio').ensure_future(self._on_click(click)); return _response(200, None)",
        "KEPT",
        ("kill at click",),
    ),
    Planted(
        "a change is committed with the next one",
        "answerback_storage.sqlite.connections",
        'connection.execute("COMMIT")',
        'len(jobs) % 2 and connection.execute("COMMIT")',
        "QUIET",
    ),
    Planted(
        "commits are not synced to the disk",
        "answerback_storage.sqlite.connections",
        '"synchronous = FULL",',
        '"synchronous = NORMAL",',
        "KEPT",
        ("power",),
    ),
    Planted(
        "an ask expires before its deadline",
        "answerback.workers.scheduler",
        "if ask.schedule.expires_at is not None and ask.schedule.expires_at <= now:",
        "if ask.schedule.expires_at is not None and ask.schedule.expires_at <= now + 1_000:",
        "TIME",
    ),
    Planted(
        "deadlines are forgotten at a restart",
        "answerback.workers.scheduler",
        "due_ids = await self.service.store.claims.claim_due(claim, now, _BATCH + len(waiting))",
        "due_ids = [i for i in await self.service.store.claims.claim_due(claim, now, _BATCH + len(waiting))"
        " if (a := await self.service.get(i)) is None or a.created_at >= self.message_sync._started]",
        "LIVE",
    ),
    Planted(
        "a claim is never handed back when its process dies",
        "answerback.outbox.dispatcher",
        "await self.outbox.release(self.claim.holder)",
        "self.claim = self.claim._replace(holder=f'sole {now}', seconds=90_000.0)",
        "LIVE",
    ),
    Planted(
        "an answer makes no new revision",
        "answerback.core.ask",
        "revision=ask.revision + 1,\n        updated_at=at,\n        last_actor",
        "revision=ask.revision,\n        updated_at=at,\n        last_actor",
        "RECORD",
    ),
    Planted(
        "the record names who acted before",
        "answerback.core.ask",
        "_response_entry(ask, action, walk, at, by)",
        "_response_entry(ask, action, walk, at, ask.last_actor or by)",
        "RECORD",
    ),
    Planted(
        "unconfirmed answers are told once their ask has ended",
        "answerback.core.secrecy",
        "if outcome is None or not keeps_secret(ask) or not ask.walk.answers:",
        "if True:",
        "CONFIRM",
    ),
    Planted(
        "a message counts as showing more than it does",
        "answerback.ports.message_state",
        "shown_revision=min(shown.revision, latest.revision - needs_update),",
        "shown_revision=latest.revision,",
        "SHOWN",
        ("answer late",),
    ),
    Planted(
        "an edit that Slack makes late is not undone",
        "answerback.workers.late_edits",
        "if len(self) >= MAX_QUEUED:",
        "if True:",
        "SHOWN",
        ("act late",),
    ),
    Planted(
        "a waiter that has gone is counted all the same",
        "answerback.service.notify",
        "        self.count -= 1",
        "        self.count -= follower.known is None",
        "REST",
    ),
    Planted(
        "a connection that Slack has ended is not closed",
        "answerback_slack.connection",
        "await asyncio.sleep(_DRAIN_SECONDS if client.is_usable() else 0)",
        "await asyncio.sleep(1e9)",
        "REST",
        ("renew", "cut"),
    ),
    Planted(
        "a server error of Slack ends the ask",
        "answerback_slack.errors",
        "return PlatformUnavailableError(",
        "return DestinationGoneError(",
        "LIVE",
        ("refuse",),
    ),
    Planted(
        "an outcome has two webhooks",
        "answerback_storage.sqlite.asks",
        "for delivery in write.deliveries]",
        "for each in write.deliveries"
        " for delivery in (each, __import__('dataclasses').replace(each, id=f'{each.id[:-1]}x'))]",
        "WEBHOOK",
    ),
    Planted(
        "the client repeats a call with another key",
        "answerback_client.async_client",
        '"Idempotency-Key": key or secrets.token_hex(16)',
        '"Idempotency-Key": secrets.token_hex(16)',
        "ONCE",
    ),
    Planted(
        "a button counts as the one before it",
        "answerback_chat.control_codec",
        "return Choose(None if self.number is None else (self.number,))",
        "return Choose(None if self.number is None else (max(0, self.number - 1),))",
        "RECORD",
    ),
    Planted(
        "No counts as Yes",
        "answerback_chat.control_codec",
        "return _BOOLEANS[self.argument][self.verb is Verb.REMEMBER]",
        'return _BOOLEANS["true"][self.verb is Verb.REMEMBER]',
        "RECORD",
    ),
    Planted(
        "changes that came together are rolled back",
        "answerback_storage.sqlite.connections",
        'connection.execute("COMMIT")',
        'connection.execute("ROLLBACK" if len(jobs) > 2 else "COMMIT")',
        "KEPT",
    ),
    Planted(
        "a token that is taken out of the settings is accepted until a restart",
        "answerback.api.auth",
        "self._agents = dict(other._agents)",
        "self._agents |= other._agents",
        "MAY",
        ("reload",),
    ),
    Planted(
        "an approval can be used twice",
        "answerback.service.consumption",
        "if ask.collection.consumed_at is not None:",
        "if False:",
        "USE",
    ),
    Planted(
        "what ends with an answer has no receipt",
        "answerback_receipts.receipts",
        'if change.entries[-1].kind != "ended":',
        'if change.entries[-1].kind != "ended" or len(change.entries) > 1:',
        "RECEIPT",
    ),
    Planted(
        "deadlines are noticed half an hour late",
        "answerback.workers.scheduler",
        "due_ids = await self.service.store.claims.claim_due(claim, now, _BATCH + len(waiting))",
        "due_ids = await self.service.store.claims.claim_due(claim, now - 1_800, _BATCH + len(waiting))",
        "TIME",
    ),
    Planted(
        "the uses of a grant are not counted",
        "answerback_storage.sqlite.asks",
        "UPDATE grants SET used = used + 1 WHERE",
        "UPDATE grants SET used = used WHERE",
        "GRANT",
    ),
    Planted(
        "a grant allows after it was revoked",
        "answerback_storage.sqlite.asks",
        "UPDATE grants SET ended_at = $2 WHERE",
        "UPDATE grants SET ended_at = NULL WHERE",
        "GRANT",
    ),
    Planted(
        "the confirmation of one person counts as two",
        "answerback.core.confirmation",
        "by, voters = vote.by, [each.by for each in votes]",
        "by, voters = vote.by, []",
        "CONFIRM",
    ),
    Planted(
        "a change is decided by what an ask was before the last one",
        "answerback_storage.sqlite.change_batches",
        "self._asks[ask.id] = ask, cached[1]  # at the end",
        "self._asks[ask.id] = cached  # at the end",
        "QUIET",
    ),
    Planted(
        "agents are told of a click before it is committed",
        "answerback.service.act_or_refuse",
        "            outcome, repeated = await commits.store.asks.change(",
        "            early = decide(await commits.store.asks.get(intent.ask_id)).result\n"
        "            if isinstance(early, Write):\n"
        "                commits.publish(early)\n"
        "                await __import__('asyncio').sleep(0.1)\n"
        "            outcome, repeated = await commits.store.asks.change(",
        "TOLD",
        ("kill at click",),
    ),
    Planted(
        "what was erased can be read in the record",
        "answerback.core.erasure",
        "if name in _KEPT and isinstance(value, str | bool | int)",
        "if isinstance(value, str | bool | int)",
        "ERASE",
    ),
    Planted(
        "an agent reads a file before its answer is confirmed",
        "answerback.core.secrecy",
        "secret = keeps_secret(ask) and not to_people",
        "secret = False",
        "FILES",
    ),
    Planted(
        "an agent reads the files of another one's ask",
        "answerback.api.files",
        'is_its_own = (ask.request.agent or "") == agent',
        "is_its_own = True",
        "FILES",
    ),
    Planted(
        "where a picture was taken stays in it",
        "answerback.service.people_files",
        "return remove_metadata(kind.media_type, data)",
        "return data",
        "FILES",
    ),
    Planted(
        "what came too late for a hook is lost",
        "answerback.hooks.endpoint",
        "return caller.host.tell_model(event, ",
        "return (lambda *_: {})(event, ",
        "LATE",
    ),
    Planted(
        "an outcome that a call told comes again",
        "answerback.mcp.backend",
        "self.tracker.add_outcome(ask, state)",
        "state is SeenState.LISTED and self.tracker.add_outcome(ask, state)",
        "LATE",
    ),
    Planted(
        "what was submitted with files is lost with its process",
        "answerback_chat.pending_deliveries",
        "take(key, kept)",
        "pass",
        "KEPT",
        ("kill at files",),
    ),
    Planted(
        "the files of an erased ask stay",
        "answerback_storage.files",
        "DELETE FROM files WHERE ask_id = $1 RETURNING id",
        "DELETE FROM files WHERE ask_id = $1 AND agent = '' RETURNING id",
        "ERASE",
    ),
    Planted(
        "a push says that an ask waits which has ended",
        "answerback_push.pushes",
        "        if waits is over:\n            return _DONE\n        to, drafts",
        "        to, drafts",
        "PUSH",
        ("push fails",),
    ),
    Planted(
        "a device that is gone is notified again",
        "answerback_push.pushes",
        "if result.status in _GONE:",
        "if False:",
        "PUSH",
        ("push fails",),
    ),
    Planted(
        "only one of the devices is notified",
        "answerback_push.pushes",
        "if named and waits is not over:",
        "if named and waits is not over and not recipients:",
        "PUSH",
    ),
    Planted(
        "a push that was not taken is not tried again",
        "answerback_push.pushes",
        "        if over and result.error is None:\n",
        "        if result.error is not None:\n            return _DONE\n        if over:\n",
        "PUSH",
        ("push fails",),
    ),
    Planted(
        "the end of an ask replaces no notification",
        "answerback_push.push_rows",
        "    if ended:\n",
        "    if ended and False:\n",
        "PUSH",
    ),
    Planted(
        "a notification comes before the time in which others may answer",
        "answerback_push.push_rows",
        "at + after.request.push_after",
        "at",
        "PUSH",
    ),
    Planted(
        "a session opens pages after its person has signed out",
        "answerback_oidc.sessions",
        "UPDATE oidc_sessions SET until = 0 WHERE id IN",
        "UPDATE oidc_sessions SET until = until WHERE id IN",
        "SIGN",
    ),
    Planted(
        "a session never ends",
        "answerback_oidc.sessions",
        "now + hours * _HOUR)",
        "now + _DAY)",
        "SIGN",
    ),
    Planted(
        "who is not listed any more stays signed in",
        "answerback_oidc.sessions",
        "for each, person in found if self.may_sign_in(person)]",
        "for each, person in found]",
        "SIGN",
        ("reload",),
    ),
    Planted(
        "who is listed again is signed in as before",
        "answerback_oidc.sessions",
        "if not self.may_sign_in(self._named(user_id))",
        "if False",
        "SIGN",
        ("reload",),
    ),
    Planted(
        "a session is somebody else's",
        "answerback_oidc.sessions",
        "            (key_hash, self._named(user_id))\n"
        "            for key_hash, user_id in await self._rows.read(_LIVE, now)\n",
        "            (key_hash, self._named(min(each for _, each in rows)))\n"
        "            for rows in [await self._rows.read(_LIVE, now)]\n"
        "            for key_hash, _ in rows\n",
        "SIGN",
    ),
    Planted(
        "one sign-in begins two sessions",
        "answerback_oidc.sessions",
        'f"session:{state}".encode()',
        "f\"session:{state}{__import__('secrets').token_hex(8)}\".encode()",
        "SIGN",
    ),
    Planted(
        "anybody whom the provider knows is signed in",
        "answerback_oidc.sessions",
        "return is_ours and self._people.name_of(person) is not None",
        "return is_ours",
        "SIGN",
    ),
)


class _Finder(MetaPathFinder):
    """Finds one module with its bug."""

    def __init__(self, planted: Planted) -> None:
        self._planted = planted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._planted.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.origin is None:
            raise ImportError(f"there is no module {fullname}")
        spec.loader = _Loader(fullname, spec.origin, self._planted)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, planted: Planted) -> None:
        super().__init__(name, path)
        self._planted = planted

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutated(self._planted, Path(self.path).read_text()), self.path, "exec")


def mutated(planted: Planted, source: str) -> str:
    """Return a module's source with the bug.

    Raises:
        ValueError: the line does not occur, or more than once.
    """
    if source.count(planted.line) != 1:
        raise ValueError(
            f"{planted.module} has {planted.line!r} {source.count(planted.line)} times: "
            f"mend the planted bug {planted.name!r}"
        )
    return source.replace(planted.line, planted.bug)


def plant(name: str) -> None:
    """Have the bug of this name from now on. Nothing of the product may have been imported."""
    [planted] = [each for each in PLANTED if each.name == name]
    sys.meta_path.insert(0, _Finder(planted))

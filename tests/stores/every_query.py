"""Whatever a running service asks of its store again and again, to check how the database answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from answerback.core.ask import Ask, Reason, Status, Thread
from answerback.core.ask import end_ask as end
from answerback.core.files import AttachedFile
from answerback.core.labels import ENGLISH
from answerback.core.person import Person
from answerback.ports.claims import SOLE_CLAIM, Fence
from answerback.ports.late_answers import LateAnswerQuery, SeenState
from answerback.ports.search import Account, Search
from answerback.ports.store import Decision, Store, Write
from answerback.ports.surface import Shown
from answerback_numbers.numbers import count_uncounted
from answerback_numbers.stats import StatsReader
from answerback_receipts.stored_receipts import NewLink, NewReceipt, StoredReceipts
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    ANN,
    answer_decision,
    new_delivery,
    read_only_decision,
    release_all,
)
from tests.service_support import ManualClock
from tests.stores.away import away_in
from tests.stores.receipts import receipt_row

_ACCOUNTS: Sequence[Account] = (("slack", "U1"), ("web", "ann@example.com"))


def _end(ask: Ask | None) -> Decision[None]:
    assert ask is not None
    change = end(ask, Status.EXPIRED, at=3_000.0, reason=Reason.EXPIRED)
    receipt = NewReceipt("{}", "{}")
    return Decision(
        Write(change.ask, change.entries, owed=True, ask_rows=(receipt_row(receipt),)), None
    )


async def make_every_query(store: Store) -> None:
    """Use a new store as a service with people, agents, chats and webhooks does."""
    first = new_ask(1, expires_at=5_000.0, request={"agent": "coder", "conversation": "c1"})
    await store.asks.create(Write(first, deliveries=(new_delivery(),)), None)
    await store.asks.create(Write(new_ask(2)), None)
    await asyncio.gather(
        *(store.asks.change(f"ask_{n}", answer_decision(), delivery=f"Ev{n}") for n in (1, 2))
    )
    await store.asks.change("ask_2", _end)
    await _find_asks(store)
    await _collect_outcomes(store)
    await _work(store)
    await count_uncounted(store)
    await StatsReader(store).read(3_000.0, 12, ENGLISH)
    await _snooze(store, first)
    await _keep(store)
    await _maintain(store)


async def _keep(store: Store) -> None:
    """Use what is kept beside asks."""
    file = AttachedFile(
        id="file_1", name="plot.png", media_type="image/png", bytes=1, sha256="0" * 64
    )
    await store.files.begin(file.id, "coder", 1.0, 5)
    await store.files.add_chunk(file.id, 0, b"x")
    await store.files.finish(file)
    await store.files.get(file.id)
    await store.files.read_chunk(file.id, 0)
    await store.files.find_unclaimed([file.id], "coder", 0.0)
    await store.files.drop(file.id)
    await store.drafts.save("web:ask_1:ann", "x", 1.0)
    await store.drafts.change("web:ask_1:ann", lambda _: "y", 2.0)
    await store.grants.find(["s"])
    await store.grants.get("grant_1")
    await store.grants.newest(5)
    await store.rows.list("t")
    await store.rows.of_ask("t", "ask_1")
    await store.rows.delete("t", [1])
    await store.rate_limits.set_retry_after("slack:C1", 1.0)
    await store.rate_limits.get_retry_after("slack:C1")
    await store.record.last_time()


async def _maintain(store: Store) -> None:
    await store.maintenance.prune(1.0)
    await store.maintenance.prune_audit(1.0)
    await store.maintenance.prune_deliveries(1.0)
    await store.maintenance.note_time(1.0)
    await store.rows.prune("t", 1.0)
    await store.files.prune(1.0)
    await store.files.delete_remains()
    assert await store.erasure.list_erasable(1e9, 5) == ["ask_2"]
    await store.erasure.erase("ask_2", 4_000.0, frozenset())


async def _snooze(store: Store, ask: Ask) -> None:
    clock, person = ManualClock(), Person(surface="web", user_id="ann@example.com")
    snoozes = away_in(store, clock).snoozes
    await snoozes.snooze(person, ask, clock.now() + 1)
    await snoozes.hidden_from(person)
    await clock.advance(1)
    await snoozes.step()
    await snoozes.show_again(person, ask)


async def _find_asks(store: Store) -> None:
    await store.asks.get("ask_1")
    await store.messages.find_open("slack", "C1", None, 5)
    await store.messages.find_open("slack", "C1", "1.0", 5)
    await store.messages.find_by_message("discord", "5")
    await store.messages.find_ended("slack", "C1", "1.0", 1.0, 5)
    await store.messages.find_moved("slack", "C1", None, 1.0, 5)
    for filters in (
        {},
        {"status": Status.OPEN},
        {"surface": "web"},
        {"agent": "a"},
        {"conversation": "c"},
    ):
        await store.asks.page(**filters)
        await store.asks.page(**{"status": Status.OPEN, "surface": "web"} | filters)  # type: ignore[arg-type] # the same
        await store.outbox.page(state=None, agent=filters.get("agent"), after=None, limit=5)
    await store.asks.page(by_urgency=True, agent="a")
    for wanted in (
        Search(status=Status.OPEN),
        Search(agent="a"),
        Search(terms=("apply",)),
        Search(by=((ANN,),)),
        Search(terms=("apply",), since=1.0, until=5.0),
    ):
        await store.search.find(wanted, None, 5)
    dated = await store.search.find(Search(until=9e9), None, 1)
    await store.search.find(Search(since=1.0, until=9e9, ended=True), dated.after, 5)
    await store.search.list_for_responder(_ACCOUNTS, None, 5)
    await store.record.read("ask_1")
    changed = await store.record.list_changed("", 1)
    await store.record.list_changed(changed.after, 1)
    await store.asks.get_remembered("a", "c", "t", "bash", "q")
    await store.drafts.get("k")
    await store.outbox.get("msg_1")
    await store.counts()
    await store.oldest_open()


async def _collect_outcomes(store: Store) -> None:
    assert await store.late_answers.list_owed(LateAnswerQuery("", ""), 1.0)
    for after in (None, 1):
        await store.late_answers.list_owed(LateAnswerQuery("coder", "c1", after=after), 1.0)
        await store.late_answers.list_owed(LateAnswerQuery("", after=after), 1.0)
    await store.late_answers.set_seen_state(["ask_2"], SeenState.SEEN, 1.0)
    epoch = await store.leases.take("receipts", SOLE_CLAIM)
    assert epoch is not None
    await StoredReceipts(store.rows).list_unlinked(5)
    await StoredReceipts(store.rows).add_links(
        [NewLink("ask_2", 1, "{}")], Fence("receipts", epoch)
    )
    await StoredReceipts(store.rows).last_link()
    await StoredReceipts(store.rows).list_linked(0, 5)
    await StoredReceipts(store.rows).get("ask_2")


async def _work(store: Store) -> None:
    await store.messages.list_outdated(5)
    await store.asks.save_shown("ask_2", Shown(1, {"id": "1"}, Thread()))
    await store.claims.claim_message("ask_1", SOLE_CLAIM)
    await store.claims.claim_due(SOLE_CLAIM, 1e9, 5)
    await store.claims.next_due(1.0)
    (stored,) = await store.outbox.claim(SOLE_CLAIM, 1e9, 5)
    await store.outbox.renew(stored.delivery.id, SOLE_CLAIM)
    await store.outbox.next_due()
    await release_all(store, SOLE_CLAIM.holder)
    epoch = await store.leases.take("gateway", SOLE_CLAIM)
    assert epoch is not None
    await store.asks.change("ask_1", read_only_decision, fence=Fence("gateway", epoch))
    await store.leases.release("gateway", SOLE_CLAIM.holder)
    await store.changes.revisions(["ask_1"])

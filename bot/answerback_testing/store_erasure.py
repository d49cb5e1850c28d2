"""Contract tests for erasure: it removes everything that was written in an ended ask, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core import ask as asks
from answerback.core import clarification
from answerback.core.actions import Answer, EndTurn
from answerback.core.ask import Ask, Change, Destination, RecordEntry, Status
from answerback.core.clarification import AskBack
from answerback.core.errors import StoreError
from answerback.core.form import AnswerType, Form, Question
from answerback.core.view import asker_label
from answerback.core.walker import Person
from answerback.ports.claims import Claim
from answerback.ports.late_answers import LateAnswerQuery
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import (
    Created,
    Delivery,
    DeliveryState,
    Idempotency,
    RememberedAnswer,
    push_queue,
)
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import (
    ANN,
    delivery_result,
    end_decision,
    new_delivery,
    read_only_decision,
)

SECRET = "tell-nobody"
_KEY = Idempotency("coder", f"key {SECRET}", "d")


def secret_ask(number: int = 1, *, at: float = 1_000.0) -> Ask:
    """Return an ask with the secret in everything that an agent can write."""
    form = Form(
        questions=(Question(id=f"q-{SECRET}", text=SECRET, answer_type=AnswerType.TEXT),),
        tool=f"tool {SECRET}",
    )
    request = {
        "arguments": {"questions": [{"text": SECRET}]},
        "agent": "coder",
        "callback": f"https://agent.example/{SECRET}",
        "conversation": f"conv {SECRET}",
        "turn": "turn",
        "tool_call_id": SECRET,
        "metadata": {SECRET: SECRET},
        "prompt_label": "Coder",
        "accepts": ("clarify",),
        "repeat_key": "join:1",
    }
    return new_ask(number, at=at, form=form, request=request, message={"id": "17.1"})


def _ask_back_and_explain(ask: Ask | None) -> Decision[None]:
    assert ask is not None
    by = Person(surface="slack", user_id="U1", name=f"Ann {SECRET}")
    question = AskBack(text=f"Why {SECRET}?")
    asked = clarification.apply_ask_back(ask, question, at=1_700.0, by=by)
    assert isinstance(asked, asks.Change)
    explained = clarification.apply_explanation(asked.ask, f"So {SECRET}.", at=1_800.0)
    assert isinstance(explained, asks.Change)
    url = f"https://agent.example/{SECRET}"
    delivery = replace(new_delivery(9), type="ask.clarify", body=SECRET, url=url)
    return Decision(Write(explained.ask, asked.entries + explained.entries, (delivery,)), None)


def _answer_and_end(ask: Ask | None) -> Decision[None]:
    assert ask is not None
    by = Person(surface="slack", user_id="U1", name=f"Ann {SECRET}")
    change = asks.apply_action(ask, Answer(value=SECRET), at=2_000.0, by=by)
    assert isinstance(change, asks.Change)
    delivery = replace(new_delivery(), body=SECRET, url=f"https://agent.example/{SECRET}")
    question = ask.form.questions[0]
    memory = RememberedAnswer(
        "coder", f"conv {SECRET}", "turn", f"tool {SECRET}", ask.form.digest_of(question), SECRET
    )
    return Decision(Write(change.ask, change.entries, (delivery,), memory, owed=True), None)


async def answer_secretly(store: Store) -> None:
    """Create and end an ask with the secret in everything that agents and people can write."""
    ask = secret_ask()
    await store.asks.create(Write(ask, asks.request_entry(ask, ask.created_at)), _KEY)
    await store.drafts.save("ask_1:1:fill:U1", [SECRET], 1_500.0)
    await store.drafts.save("offer:ask_1:1:U1", SECRET, 1_500.0)
    await store.drafts.save("offer:ask_7:ask_1", SECRET, 1_500.0)
    await store.drafts.save("join:1", SECRET, 1_500.0)
    await store.record.add(
        "ask_1", RecordEntry(at=1_600.0, kind="note", by=ANN, body={"words": SECRET})
    )
    await store.asks.change("ask_1", _ask_back_and_explain)
    await store.asks.change("ask_1", _answer_and_end)


async def _dump(store: Store) -> str:
    page, deliveries = (
        await store.asks.page(),
        await store.outbox.page(state=None, agent=None, after=None, limit=9),
    )
    keys = ("ask_1:1:fill:U1", "offer:ask_1:1:U1", "join:1")
    drafts = [await store.drafts.get(key) for key in keys]
    owed = await store.late_answers.list_owed(LateAnswerQuery("coder"), 1.0)
    return repr((page, deliveries, await store.record.read("ask_1"), drafts, owed))


class ErasureContract:
    """Erasing asks, and finding those that are old enough to erase."""

    @pytest.mark.rule("API-18")
    async def test_erasing_removes_everything_that_was_written_and_keeps_the_skeleton(
        self, store: Store
    ) -> None:
        await answer_secretly(store)
        assert SECRET in await _dump(store)
        form = secret_ask().form
        names = (
            *(f"conv {SECRET}", "turn", f"tool {SECRET}"),
            form.digest_of(form.questions[0]),
        )
        assert await store.asks.get_remembered("coder", *names) == (SECRET,)
        was = [
            (line.seq, line.entry.at, line.entry.kind) for line in await store.record.read("ask_1")
        ]
        erased = await store.erasure.erase("ask_1", 9_000.0, {"slack"})
        assert erased is not None
        assert erased == await store.asks.get("ask_1")
        assert SECRET not in await _dump(store)
        assert (erased.status, erased.erased_at, erased.revision) == (
            Status.ANSWERED,
            9_000.0,
            5,
        )
        assert erased.outcome is not None
        assert erased.outcome.at == 2_000.0
        assert erased.outcome.ended_by == Person(surface="slack", user_id="U1")
        assert (erased.placement.message, erased.placement.shown_revision) == ({"id": "17.1"}, 0)
        assert (erased.request.agent, erased.request.dialect) == ("coder", "ask_user")
        assert await store.messages.list_outdated(9) == ["ask_1"], "the message has to be edited"
        lines = await store.record.read("ask_1")
        assert [(line.seq, line.entry.at, line.entry.kind) for line in lines][:-1] == was
        assert lines[-1].entry == RecordEntry(at=9_000.0, kind="note", body={"erased": True})
        answer = next(line.entry for line in lines if line.entry.kind == "answered")
        assert answer.by == Person(surface="slack", user_id="U1")
        assert answer.body == {"source": "human", "other": False, "remembered": False}
        assert await store.asks.get_remembered("coder", *names) is None
        assert await store.asks.find_created(_KEY) is None
        assert (await store.asks.page(conversation=f"conv {SECRET}")).rows == ()

    async def test_a_webhook_of_an_erased_ask_is_no_longer_sent(self, store: Store) -> None:
        await answer_secretly(store)
        await store.erasure.erase("ask_1", 9_000.0, ())
        delivery = await store.outbox.get("msg_1")
        assert delivery is not None
        assert (delivery.state, delivery.next_at, delivery.delivery.body) == (
            DeliveryState.DEAD,
            None,
            "",
        )
        counted = await store.counts()
        assert (counted["pending"], counted["dead"], counted["answered"]) == (0, 2, 1)
        late = delivery_result(new_delivery(), DeliveryState.PENDING, next_at=9_100.0)
        await store.outbox.save_results([late], [], holder="us")
        assert await store.outbox.get("msg_1") == delivery, (
            "the attempt in progress changes nothing"
        )

    async def test_ids_are_kept_only_if_they_identify_nobody(self, store: Store) -> None:
        to = Destination(surface="web", user="ann@example.com")
        request = {
            "agent": "claude-code-bcdfghjkl",
            "prompt_label": "Claude Code (ann@example.com)",
            "origin": {"owner": "web:ann@example.com"},
        }
        ask = new_ask(to=to, responders=("ann@example.com",), request=request)
        await store.asks.create(Write(ask), None)
        by = Person(surface="web", user_id="ann@example.com", name="Ann")

        def end_turn(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            change = asks.apply_action(ask, EndTurn(), at=2_000.0, by=by)
            assert isinstance(change, Change)
            return Decision(Write(change.ask, change.entries), None)

        await store.asks.change("ask_1", end_turn)
        erased = await store.erasure.erase("ask_1", 9_000.0, {"slack"})
        assert "ann@" not in repr((erased, await store.record.read("ask_1"))).lower()
        assert erased is not None
        assert erased.outcome is not None
        assert erased.outcome.ended_by == Person(surface="web", user_id="erased")
        assert erased.placement.shown_revision == erased.revision, "no message shows it"
        assert asker_label(erased) == "claude-code-bcdfghjkl"

    async def test_no_push_about_an_erased_ask_is_left(self, store: Store) -> None:
        def push(number: int, ask: str, to: str) -> Delivery:
            queue = push_queue(ask, to)
            return replace(
                new_delivery(number), ask_id=queue, type="push.waits", body="ann@", agent="@ann"
            )

        of_other = push(3, "ask_12", "b")
        pushes = (push(1, "ask_1", "psh_1"), push(2, "ask_1", "browser"), of_other)
        await store.asks.create(Write(new_ask(1), deliveries=pushes), None)
        claimed = await store.outbox.claim(Claim("us", 60.0), 2_000.0, 1)
        await store.asks.change("ask_1", end_decision())
        await store.erasure.erase("ask_1", 9_000.0, ())
        await store.outbox.save_results(claimed, [], "us")
        page = await store.outbox.page(state=None, agent=None, after=None, limit=9)
        assert [each.delivery for each in page.rows] == [of_other]

    async def test_erasing_an_open_or_erased_ask_changes_nothing(self, store: Store) -> None:
        assert await store.erasure.erase("ask_1", 9_000.0, ()) is None
        await store.asks.create(Write(new_ask()), None)
        assert await store.erasure.erase("ask_1", 9_000.0, ()) == new_ask()
        await store.asks.change("ask_1", end_decision())
        erased = await store.erasure.erase("ask_1", 9_000.0, ())
        assert erased is not None
        assert await store.erasure.erase("ask_1", 9_500.0, ()) == erased
        assert len(await store.record.read("ask_1")) == 3

    async def test_erasing_leaves_other_asks_alone(self, store: Store) -> None:
        await answer_secretly(store)
        key = Idempotency("coder", "other", "d")
        other = new_ask(12, request={"agent": "coder", "conversation": "c"})
        memory = RememberedAnswer("coder", "c", "turn", "", "apply", value=True)
        deliveries = (new_delivery(2, ask="ask_12"),)
        await store.asks.create(
            Write(other, (RecordEntry(at=1.0, kind="note"),), deliveries, memory), key
        )
        await store.drafts.save("ask_12:1:fill:U1", 1, 1_500.0)
        was = await store.record.read("ask_12"), await store.outbox.get("msg_2")
        await store.erasure.erase("ask_1", 9_000.0, ())
        assert (await store.record.read("ask_12"), await store.outbox.get("msg_2")) == was
        assert await store.asks.get("ask_12") == other
        assert await store.drafts.get("ask_12:1:fill:U1") == 1
        assert await store.asks.get_remembered("coder", "c", "turn", "", "apply") == (True,)
        assert await store.asks.find_created(key) is not None

    async def test_a_draft_is_kept_if_the_id_is_only_within_a_part_of_its_key(
        self, store: Store
    ) -> None:
        """Ids of messages have to be known until these say that the ask was erased."""
        await answer_secretly(store)
        for key in ("chat:reminder_of_ask_1:0", "chat:about:17.1"):
            await store.drafts.save(key, "17.1", 1_500.0, "ask_1")
        await store.erasure.erase("ask_1", 9_000.0, ())
        await store.maintenance.prune(9_000.0)
        for key in ("chat:reminder_of_ask_1:0", "chat:about:17.1"):
            assert await store.drafts.get(key) == "17.1"

    async def test_a_key_can_be_used_again_once_its_ask_is_erased(self, store: Store) -> None:
        await answer_secretly(store)
        await store.erasure.erase("ask_1", 9_000.0, ())
        assert isinstance(await store.asks.create(Write(new_ask(2)), _KEY), Created)

    async def test_an_erased_ask_can_still_be_shown(self, store: Store) -> None:
        await answer_secretly(store)
        erased = await store.erasure.erase("ask_1", 9_000.0, ())

        def shown(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(
                Write(replace(ask, placement=replace(ask.placement, shown_revision=ask.revision))),
                None,
            )

        await store.asks.change("ask_1", shown)
        latest, _ = await store.asks.change("ask_1", read_only_decision)
        assert erased is not None
        assert latest == replace(
            erased, placement=replace(erased.placement, shown_revision=erased.revision)
        )
        assert await store.messages.list_outdated(9) == []

    @pytest.mark.rule("DATA-19")
    async def test_old_asks_that_have_ended_can_be_erased(self, store: Store) -> None:
        for number in range(5):
            await store.asks.create(Write(new_ask(number)), None)
        for number, at in ((3, 10.0), (1, 20.0), (2, 30.0), (4, 40.0)):
            await store.asks.change(f"ask_{number}", end_decision(at=at))
        await store.erasure.erase("ask_2", 35.0, ())
        assert await store.erasure.list_erasable(40.0, 9) == ["ask_3", "ask_1"]
        assert await store.erasure.list_erasable(41.0, 1) == ["ask_3"]
        assert await store.erasure.list_erasable(10.0, 9) == []

    @pytest.mark.rule("DATA-19")
    async def test_old_record_entries_without_an_ask_are_pruned(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(), (RecordEntry(at=1.0, kind="note"),)), None)
        for at in (10.0, 20.0, 30.0):
            await store.record.add(
                None, RecordEntry(at=at, kind="note", body={"refused": "ask_user"})
            )
        assert await store.maintenance.prune_audit(30.0) == 2
        assert await store.maintenance.prune_audit(30.0) == 0
        assert await store.record.last_time() == 30.0
        assert await store.maintenance.prune_audit(31.0) == 1
        assert len(await store.record.read("ask_1")) == 1
        assert await store.record.last_time() == 1.0
        await store.record.add("ask_1", RecordEntry(at=2.0, kind="note"))
        numbers = [line.seq for line in await store.record.read("ask_1")]
        assert numbers == sorted(set(numbers))

    async def test_erasing_rejects_half_a_surrogate_pair(self, store: Store) -> None:
        with pytest.raises(StoreError, match="surrogate"):
            await store.erasure.erase("\ud800", 1.0, ())

    @pytest.mark.rule("RCPT-8")
    async def test_the_columns_of_an_ask_say_what_the_ask_says(self, store: Store) -> None:
        for number in (1, 2):
            await store.asks.create(Write(new_ask(number)), None)
        await store.asks.change("ask_1", end_decision())
        erased = await store.erasure.erase("ask_1", 9_000.0, ())
        for ask in (erased, await store.asks.get("ask_2")):
            assert ask is not None
            assert await store.asks.changed_columns(ask) == []
        other = new_ask(2, request={"agent": "another"})
        assert await store.asks.changed_columns(other) == ["asks.agent"]

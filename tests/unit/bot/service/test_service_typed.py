"""Typed text at the service: which question it answers, by the platform's clock alone."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer, Back, EndTurn
from answerback.core.asides import QuestionOpening
from answerback.core.ask import Ask, Destination, Thread
from answerback.core.clarification import AskBack
from answerback.core.escalation import is_left_behind
from answerback.core.intents import Intent, TypedText
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Rejected, RejectReason, Shown
from answerback.service import live_messages
from answerback.service.service import Service
from answerback.service.submission_request import Routes
from tests.service_support import actor, ask_user, boolean, escalate_to
from tests.unit.bot.conftest import Parts

FAR = 4_000_000_000.0
"""A time by the platform's clock, which differs greatly from ours."""


async def submitted(service: Service, *names: str, at: float | None = FAR) -> Ask:
    """An open ask that has been shown since ``at``, by the platform's clock."""
    ask = (await service.submit(ask_user(*map(boolean, names)))).ask
    return await shown(service, ask, at)


async def shown(service: Service, ask: Ask, at: float | None) -> Ask:
    await service.store.asks.save_shown(ask.id, Shown(ask.revision, {"id": "m"}, Thread(), at))
    return await stored(service, ask)


async def stored(service: Service, ask: Ask) -> Ask:
    now = await service.get(ask.id)
    assert now is not None
    return now


async def typed(service: Service, ask: Ask, at: float | None, who: str = "U1") -> Acted | Rejected:
    return await service.apply(
        Intent(ask.id, TypedText("yes"), delivery=f"{who}:{at}", at=at), actor(who)
    )


def rejection(done: Acted | Rejected) -> tuple[RejectReason, str]:
    assert isinstance(done, Rejected)
    return done.why, done.problems[0].message


async def test_text_that_names_an_answer_is_applied_and_other_text_is_refused(
    service: Service,
) -> None:
    ask = await submitted(service, "a", "b")
    unclear = await service.apply(Intent(ask.id, TypedText("hm?"), at=FAR + 1), actor())
    assert rejection(unclear)[0] is RejectReason.INVALID
    assert isinstance(await typed(service, ask, FAR + 2), Acted)
    assert [given.value for given in (await stored(service, ask)).walk.answers] == [True]


async def test_two_people_typing_at_once_answer_one_question(service: Service) -> None:
    ask = await submitted(service, "a", "b")
    assert isinstance(await typed(service, ask, FAR + 1), Acted)
    why, sentence = rejection(await typed(service, ask, FAR + 1.001, "U2"))
    not_shown = service.labels.text_before_shown.format(question="b?")
    assert (why, sentence) == (RejectReason.STALE, not_shown)
    now = await shown(service, await stored(service, ask), FAR + 2)
    assert now.opening == QuestionOpening(shown=FAR + 2)
    assert rejection(await typed(service, ask, FAR + 1.5, "U2"))[0] is RejectReason.STALE
    assert isinstance(await typed(service, ask, FAR + 2.5, "U2"), Acted)


@pytest.mark.rule("TYPED-6")
@pytest.mark.parametrize("who", ["U1", "U2"])
async def test_whoever_opened_a_question_text_counts_for_it_once_it_is_shown(
    service: Service, who: str
) -> None:
    ask = await submitted(service, "a", "b")
    await service.act(ask.id, Answer(value=True), actor(), at=FAR + 5)
    for at in (FAR + 4, FAR + 6):
        assert rejection(await typed(service, ask, at, who))[0] is RejectReason.STALE
    await shown(service, await stored(service, ask), FAR + 7)
    assert rejection(await typed(service, ask, FAR + 7, who))[0] is RejectReason.STALE
    assert isinstance(await typed(service, ask, FAR + 8, who), Acted)


async def test_text_counts_while_a_question_asked_back_is_not_shown_yet(service: Service) -> None:
    call = ask_user(boolean("a"), accepts=["clarify"])
    ask = await shown(service, (await service.submit(call)).ask, FAR)
    asked_back = await service.act(ask.id, AskBack(text="Which?"), actor("U2"), at=FAR + 1)
    assert isinstance(asked_back, Acted)
    assert isinstance(await typed(service, ask, FAR + 2), Acted)


@pytest.mark.rule("TYPED-6")
async def test_text_is_refused_if_the_platform_reports_no_time(service: Service) -> None:
    ask = await submitted(service, "a", at=None)
    assert rejection(await typed(service, ask, FAR)) == (
        RejectReason.STALE,
        service.labels.text_untimed,
    )
    assert rejection(await typed(service, ask, None))[1] == service.labels.text_untimed


async def test_a_question_opened_elsewhere_is_dated_by_when_the_platform_shows_it(
    parts: Parts,
) -> None:
    people = People({"ann": ("chat:U1", "web:U1")})
    service = parts.service(routes=Routes(people=people))
    ask = await submitted(service, "a", "b")
    somebody = actor()._replace(person=Person(surface="web", user_id="U1", via="portal"))
    await service.act(ask.id, Answer(value=True), somebody, at=1.0)
    now = await stored(service, ask)
    assert now.opening == QuestionOpening()
    assert rejection(await typed(service, ask, FAR + 1))[0] is RejectReason.STALE
    await shown(service, now, FAR + 2)
    assert isinstance(await typed(service, ask, FAR + 3), Acted)


async def test_showing_it_again_does_not_make_a_question_younger(service: Service) -> None:
    ask = await submitted(service, "a", "b")
    assert (await shown(service, ask, FAR + 9)).opening.shown == FAR
    await service.act(ask.id, Answer(value=True), actor(), at=FAR + 10)
    back = await service.act(ask.id, Back(), actor(), at=FAR + 11)
    assert isinstance(back, Acted)
    late = await shown(service, ask, FAR + 12)  # from the first time it was asked
    assert late.opening == QuestionOpening()


@pytest.mark.rule("TYPED-9")
async def test_text_is_meant_for_the_asks_that_looked_open_when_it_was_typed(
    service: Service,
) -> None:
    made = [(await service.submit(ask_user(to="chat:C1"))).ask for _ in range(4)]
    first, second, third, late = made
    place = Thread(channel="C1", id=None)

    async def show(ask: Ask, at: float) -> None:
        now = await stored(service, ask)
        await service.store.asks.save_shown(ask.id, Shown(now.revision, {"id": ask.id}, place, at))

    async def found(at: float | None) -> set[str]:
        return {ask.id for ask in await service.list_open_at("chat", "C1", None, at)}

    for ask in (first, second, third):
        await show(ask, FAR)
    assert await found(FAR + 1) == {first.id, second.id, third.id}
    await service.withdraw(first.id)
    await service.act(second.id, EndTurn(), actor(), at=FAR + 1)
    await show(second, FAR + 2)
    await show(late, FAR + 4)
    assert await found(FAR + 1) == {first.id, second.id, third.id}
    await show(first, FAR + 3)
    assert await found(FAR + 2) == {first.id, second.id, third.id}
    assert await found(FAR + 2.5) == {first.id, third.id}
    assert await found(FAR + 3.5) == {third.id}
    assert await found(FAR + 5) == {third.id, late.id}
    assert await found(None) == {third.id, late.id}
    assert await found(FAR - 1) == {third.id, late.id}


@pytest.mark.rule("TYPED-9")
async def test_asks_in_a_channel_are_found_however_many_others_are_open_ended_or_gone_there(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = parts.service()
    for name in ("_MAX_OPEN", "_MAX_ENDED", "_PAGE"):
        monkeypatch.setattr(live_messages, name, 2)
    made = [(await service.submit(ask_user(to="chat:C1"))).ask for _ in range(18)]

    async def show(ask: Ask, at: float, thread: str | None) -> None:
        message = {"id": ask.id, "thread": thread}
        place = Thread(channel="C1", id=thread)
        await service.store.asks.save_shown(ask.id, Shown(ask.revision, message, place, at))

    for number, ask in enumerate(made):
        await show(ask, FAR, None if number % 6 == 0 else "T")
    still, ended, moved = made[:6], made[6:12], made[12:]
    # In the order in which they are found, those in the channel itself come last.
    for ask in moved:
        now = await escalate_to(service, ask, Destination(surface="chat", channel="C2"))
        await service.save_retired(now, FAR + 9 if ask is moved[0] else FAR + 10)
    for ask in ended:
        await service.withdraw(ask.id)
        await parts.clock.advance(1)

    def is_in_channel(ask: Ask) -> bool:
        return (ask.placement.message or {}).get("thread") is None

    at_once = await service.list_open_in("chat", "C1", None, wanted=is_in_channel)
    assert [ask.id for ask in at_once] == [still[0].id]
    then = await service.list_open_at("chat", "C1", None, FAR + 1, wanted=is_in_channel)
    assert [ask.id for ask in then] == [still[0].id, ended[0].id, moved[0].id]
    before = await service.list_open_at("chat", "C1", None, FAR - 1, wanted=is_in_channel)
    assert [ask.id for ask in before] == [still[0].id]
    assert len(await service.list_open_in("chat", "C1", None)) == 2


@pytest.mark.rule("TYPED-9")
async def test_text_that_arrives_late_is_for_what_was_open_however_many_asks_appeared_since(
    service: Service,
) -> None:
    made = [(await service.submit(ask_user(to="chat:C1"))).ask for _ in range(12)]
    for number, ask in enumerate(made):
        place, at = Thread(channel="C1"), FAR if number < 2 else FAR + 2
        await service.store.asks.save_shown(ask.id, Shown(1, {"id": ask.id}, place, at))
    found = await service.list_open_at("chat", "C1", None, FAR + 1)
    assert [ask.id for ask in found] == [made[1].id, made[0].id]


@pytest.mark.rule("TYPED-9", "TYPED-12")
async def test_text_may_be_meant_for_an_ask_that_has_moved_away_since(service: Service) -> None:
    to = Destination(surface="chat", channel="C2")
    stays, moved = [(await service.submit(ask_user(to="chat:C1"))).ask for _ in range(2)]
    here, there = Thread(channel="C1"), Thread(channel="C2")

    async def found(at: float | None, channel: str = "C1") -> list[tuple[str, bool]]:
        asks = await service.list_open_at("chat", channel, None, at)
        return [(ask.id, is_left_behind(ask)) for ask in asks]

    for ask in (stays, moved):
        await service.store.asks.save_shown(ask.id, Shown(1, {"id": ask.id}, here, FAR))
    now = await escalate_to(service, await stored(service, moved), to)
    await service.store.asks.save_shown(moved.id, Shown(2, {"id": "new"}, there, FAR + 2), now)
    both = [(stays.id, False), (moved.id, True)]
    assert await found(FAR + 1) == both
    assert await found(FAR + 9) == both, "its old message still looks open"
    assert await found(FAR) == [(stays.id, False)]
    assert await found(None) == [(stays.id, False)]
    assert await found(FAR + 3, "C2") == [(moved.id, False)]
    await service.save_retired(now, FAR + 5)
    assert await found(FAR + 5) == both
    assert await found(FAR + 6) == [(stays.id, False)]
    await service.withdraw(stays.id)
    await service.withdraw(moved.id)
    assert await found(FAR + 5) == both, "they ended afterwards"


@pytest.mark.rule("TYPED-12")
async def test_an_old_message_that_was_shown_again_meanwhile_is_still_to_become_a_note(
    service: Service,
) -> None:
    ask = await submitted(service, "a")
    moved = await escalate_to(service, ask, Destination(surface="web"))
    await service.store.asks.save_shown(ask.id, Shown(1, {"id": "m2"}, Thread()), ask)
    await service.save_retired(moved, FAR)
    assert (await stored(service, ask)).to_retire is not None


async def test_the_same_text_is_applied_once(service: Service) -> None:
    ask = await submitted(service, "a", "b")
    assert await typed(service, ask, FAR + 1) == Acted(await stored(service, ask))
    again = await typed(service, ask, FAR + 1)
    assert isinstance(again, Acted)
    assert again.repeated


async def test_text_for_another_revision_than_its_control_is_refused(
    service: Service,
) -> None:
    ask = await submitted(service, "a", "b")
    used = await service.apply(Intent(ask.id, TypedText("yes"), 7, at=FAR + 1), actor())
    assert isinstance(used, Rejected)
    assert (used.why, used.problems) == (RejectReason.STALE, ())

"""Names of responders in Slack's messages: names that notify nobody, or mentions if the route asks for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import ANYONE, Ask, Change, Status
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from tests.fakes.long_timeouts import PATIENT
from tests.unit.adapters.slack.rig import CHANNEL, Rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
LABELS = Labels()


def read(up: Rig, ask: Ask) -> str:
    return up.ada.sees(up.live(ask)).text


@pytest.mark.rule("SURFACE-17", "WHO-1")
async def test_people_and_groups_are_named_after_a_lookup_and_nobody_is_notified(up: Rig) -> None:
    up.slack.workspace.groups["S0OPS"] = ("release-team", [up.bob.id])
    responders = [up.ada.id, "@S0OPS"]
    ask = await up.submit(APPLY, responders=responders)
    assert "For ada, @release-team" in read(up, ask)
    assert up.ada.sees(up.live(ask)).mentions == []
    looked_up = up.slack.count("users.info"), up.slack.count("usergroups.list")
    await up.submit(APPLY, responders=responders)
    assert (up.slack.count("users.info"), up.slack.count("usergroups.list")) == looked_up == (1, 1)


@pytest.mark.rule("SURFACE-17")
@pytest.mark.parametrize("code", ["missing_scope", "user_not_found", "ratelimited"])
async def test_responders_without_a_known_name_are_counted(up: Rig, code: str) -> None:
    up.slack.faults.add("users.info", error=code, times=9)
    ask = await up.submit(APPLY, responders=[up.ada.id, up.bob.id])
    assert LABELS.for_people.format(count=2) in read(up, ask)
    assert up.ada.id not in read(up, ask)


@pytest.mark.parametrize("delays", [replace(PATIENT, call=3_600.0, names=0.05)])
async def test_a_message_waits_only_briefly_for_names(up: Rig) -> None:
    up.slack.faults.add("users.info", hang=True)
    ask = await up.submit(APPLY)
    assert LABELS.for_people.format(count=1) in read(up, ask)


@pytest.mark.rule("SURFACE-17")
async def test_a_direct_message_does_not_say_who_may_answer(up: Rig) -> None:
    person = await up.submit(APPLY, to=f"slack:@{up.ada.id}", responders=None)
    channel = person.placement.thread.channel if person.placement.thread else None
    talk = await up.submit(APPLY, to=f"slack:{channel}", responders=None)
    assert talk.placement.responders == (ANYONE,)
    for ask in (person, talk):
        text = read(up, ask)
        assert "For" not in text
        assert LABELS.for_anyone not in text


@pytest.mark.rule("SURFACE-18")
async def test_responders_to_notify_are_mentioned_and_not_looked_up(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=[up.ada.id, "@S0OPS", "made-up"])
    calls = len(up.slack.calls)
    view = view_of(ask)._replace(mention=True)
    assert (await up.app.surface._names.name_all(view))[1] == {
        up.ada.id: f"<@{up.ada.id}>",
        "@S0OPS": "<!subteam^S0OPS>",
    }
    assert len(up.slack.calls) == calls


@pytest.mark.rule("SURFACE-13", "WHO-5")
async def test_a_reminder_repeats_the_question_and_later_says_who_answered(up: Rig) -> None:
    ask = await up.submit(APPLY | {"text": "Apply <!channel> _now_?"}, responders=[up.ada.id])
    await up.app.surface.remind(ask, 0)
    [reminder] = [m for m in up.slack.messages(CHANNEL) if m.thread_ts == up.live(ask).ts]
    assert "Apply <!channel> _now_?" in up.ada.sees(reminder).text
    assert up.ada.sees(reminder).mentions == [up.ada.id]
    await up.app.service.update(
        ask.id,
        lambda latest, _: Change(
            replace(latest, schedule=replace(latest.schedule, reminders_done=1)), ()
        ),
    )
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED
    assert "Answered by ada · " in up.ada.sees(reminder).text


@pytest.mark.rule("SURFACE-17", "WHO-5")
async def test_people_have_one_name_in_a_message_and_its_reminder(up: Rig) -> None:
    alice, bob = up.slack.person("U0ALICE", "Alice Liddell"), up.slack.person("U0BOBBY", "Bob Roe")
    for person in (alice, bob):
        up.slack.workspace.channels[CHANNEL].members.add(person.id)
    note = {"id": "note", "text": "A note?", "answer_type": "text"}
    ask = await up.submit(APPLY, note, responders=[alice.id, bob.id], accepts=["clarify"])
    await up.app.surface.remind(ask, 0)
    await up.app.service.update(
        ask.id,
        lambda latest, _: Change(
            replace(latest, schedule=replace(latest.schedule, reminders_done=1)), ()
        ),
    )
    await bob.click(up.live(ask), LABELS.ask_back)
    await bob.sees_modal()
    await bob.submit({LABELS.ask_back_label.format(label="the assistant"): "Why?"})
    ask = await up.shown(ask)
    assert "Bob Roe asked: Why?" in read(up, ask)
    await bob.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    assert "For Alice Liddell, Bob Roe" in read(up, ask)
    assert "Answered by Bob Roe" in read(up, ask)
    await up.app.service.act(
        ask.id,
        Answer(value="fine"),
        Actor(Person(surface="slack", user_id=alice.id, name="alice.liddell")),
    )
    ask = await up.shown(ask)
    assert "(by Bob Roe)" in read(up, ask)
    [reminder] = [m for m in up.slack.messages(CHANNEL) if m.thread_ts == up.live(ask).ts]
    for text in (read(up, ask), up.ada.sees(reminder).text):
        assert "Alice Liddell" in text
        assert "alice.liddell" not in text
        assert "bob.roe" not in text

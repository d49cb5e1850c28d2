"""Groups that are other ones at each place, such as a chat's administrators, are named for where an ask goes."""

from __future__ import annotations

from typing import Final

import pytest

from answerback.core.ask import Destination
from answerback.core.errors import Problem
from answerback.core.origin import Origin
from answerback.core.request import Escalation
from answerback.core.urgency import Urgency
from answerback.service.submission_plan import Plan
from answerback.service.submission_reader import name_place_groups
from tests.service_support import FakeSurface

CHAT: Final = Destination(surface="chat", channel="C1")


class Chat(FakeSurface):
    """A chat whose administrators are a group of each channel."""

    def name_groups(self, who: tuple[str, ...], destination: Destination) -> tuple[str, ...]:
        there = (each for each in who if destination.channel or each != "@admins")
        return tuple(f"@{destination.channel}" if each == "@admins" else each for each in there)


def plan(
    responders: tuple[str, ...] | None = ("ann",),
    *,
    confirmers: tuple[str, ...] = (),
    allowed_recipients: tuple[str, ...] | None = None,
    escalation: Escalation | None = None,
    destination: Destination = CHAT,
) -> Plan:
    return Plan(
        destination=destination,
        responders=responders,
        remind_after=(),
        push_after=10.0,
        expires_in=None,
        on_expiry="cancel",
        context_format="markdown",
        mention=False,
        escalation=escalation,
        origin=Origin(),
        route=None,
        mark=None,
        urgency=Urgency.NORMAL,
        confirmation=None,
        confirmers=confirmers,
        confirmers_elsewhere=(),
        allowed_recipients=allowed_recipients,
        grants=None,
        edit=False,
    )


def named(planned: Plan) -> Plan:
    done = name_place_groups(planned, {"chat": Chat(), "plain": FakeSurface("plain")})
    assert isinstance(done, Plan), done
    return done


@pytest.mark.rule("TELEGRAM-10")
def test_the_administrators_of_a_place_are_named_for_it() -> None:
    done = named(
        plan(("ann", "@admins"), confirmers=("@admins",), allowed_recipients=("@admins", "eve"))
    )
    assert done.responders == ("ann", "@C1")
    assert done.confirmers == ("@C1",)
    assert done.allowed_recipients == ("@C1", "eve")
    nobody = named(plan(None))
    assert (nobody.responders, nobody.allowed_recipients, nobody.escalation) == (None, None, None)


@pytest.mark.rule("TELEGRAM-10")
@pytest.mark.parametrize(
    ("to", "group"),
    [(None, "@C1"), (Destination(surface="chat", channel="C2"), "@C2")],
)
def test_those_of_an_escalation_are_named_for_where_it_leads(
    to: Destination | None, group: str
) -> None:
    later = Escalation(after=60.0, to=to, responders=("@admins",), confirmers=("@admins", "eve"))
    done = named(plan(escalation=later)).escalation
    assert done is not None
    assert (done.responders, done.confirmers) == ((group,), (group, "eve"))


@pytest.mark.rule("TELEGRAM-10")
@pytest.mark.parametrize("surface", ["plain", "pager"])
def test_other_surfaces_keep_the_names_as_they_are(surface: str) -> None:
    there = Destination(surface=surface, channel="C1")
    assert named(plan(("@admins",), destination=there)).responders == ("@admins",)


@pytest.mark.rule("TELEGRAM-10")
def test_where_nobody_is_left_the_plan_is_refused() -> None:
    direct = Destination(surface="chat", user="ann")
    refused = name_place_groups(plan(("@admins",), destination=direct), {"chat": Chat()})
    assert isinstance(refused, Problem)
    assert refused.code == "responders_required"
    assert "no @admins" in refused.message

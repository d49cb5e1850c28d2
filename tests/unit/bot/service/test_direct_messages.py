"""What is asked in a direct message is answered by its person alone, whoever else is listed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.handing_over import HandOver
from answerback.core.people import People
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from tests.service_support import actor, ask_user
from tests.unit.bot.conftest import Parts


async def submitted(service: Service, **envelope: Any) -> Ask:
    return (await service.submit(ask_user(**envelope))).ask


@pytest.mark.rule("SUBMIT-10")
async def test_only_its_recipient_may_answer_a_direct_message(service: Service) -> None:
    ask = await submitted(service, to="chat:@U7", responders=None)
    stranger = await service.act(ask.id, Answer(value=True), actor("U8"))
    assert isinstance(stranger, Rejected)
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("U7")), Acted)


@pytest.mark.rule("SUBMIT-10", "HANDOVER-2")
@pytest.mark.parametrize("listed_by", ["call", "route"])
async def test_whoever_is_listed_beside_a_direct_message_can_only_be_given_it(
    parts: Parts, listed_by: str
) -> None:
    listed, route = ["U7", "U8"], {"to": "chat:@U7"}
    table = Route.model_validate(route | ({"responders": listed} if listed_by == "route" else {}))
    service = parts.service(routes=Routes("ops", {"ops": table}))
    named = listed if listed_by == "call" else None
    ask = await submitted(service, to="ops", responders=named)
    assert (ask.responders, view_of(ask).takers) == (("U7",), ("U7", "U8"))
    other = await service.act(ask.id, Answer(value=True), actor("U8"))
    assert isinstance(other, Rejected)
    assert other.why is RejectReason.NOT_ALLOWED
    given = await service.act(ask.id, HandOver(to="U8"), actor("U7"))
    assert isinstance(given, Acted)
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("U8")), Acted)


@pytest.mark.rule("SUBMIT-10", "ROUTE-6")
@pytest.mark.parametrize("named", [None, ["U7", "U8"]])
async def test_whoever_is_listed_may_act_where_a_direct_message_is_escalated_to_a_shared_place(
    parts: Parts, named: list[JsonValue] | None
) -> None:
    escalate = {"after": 60, "to": "web"}
    listed = ["U7", "U8", "person:eve"]
    route = Route.model_validate({"to": "chat:@U7", "responders": listed, "escalate": escalate})
    people = People({"eve": ("web:eve", "chat:U9")})
    service = parts.service(routes=Routes("ops", {"ops": route}, people=people))
    ask = await submitted(service, to="ops", responders=named)
    assert ask.request.escalation is not None
    at_the_new_place = ("U7", "U8") if named else ("U7", "U8", "eve")
    assert (ask.responders, ask.request.escalation.responders) == (("U7",), at_the_new_place)

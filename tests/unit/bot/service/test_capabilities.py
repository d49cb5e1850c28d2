"""A surface with only the required methods: the service works without the optional ones."""

from __future__ import annotations

from answerback.core.actions import Answer
from answerback.ports.surface import Rejected, RejectReason
from answerback.service.submission_request import Route, Routes
from tests.service_support import FakeSurface, actor
from tests.unit.bot.background_support import running, shows, submit
from tests.unit.bot.conftest import Parts


class Bare(FakeSurface):
    """A surface with only the required methods."""

    remind = None  # type: ignore[assignment]  # as if it did not exist
    groups_of = None  # type: ignore[assignment]
    retire_message = None  # type: ignore[assignment]


async def test_an_ask_works_without_reminders_groups_and_notes(parts: Parts) -> None:
    parts.chat = Bare()
    escalate = {"after": 60, "to": "chat:C2", "responders": ["BOSS"]}
    route = Route.model_validate(
        {"to": "chat:C1", "responders": ["@ops"], "remind_after": [10], "escalate": escalate}
    )
    async with running(parts, routes=Routes("ops", {"ops": route})) as (service, shower):
        ask = await submit(service, to=None, responders=None)
        await shower.wait_until_idle()
        refused = await service.act(ask.id, Answer(value=True), actor("U1"))
        assert isinstance(refused, Rejected)
        assert refused.why is RejectReason.NOT_ALLOWED
        with service.follow(ask.id) as following:
            await parts.clock.advance(11)
            reminded = await following.next_commit()
        assert reminded is not None
        assert reminded.schedule.reminders_done == 1
        await parts.clock.advance(50)
        await parts.chat.until(shows(parts, ask, 2))
        await shower.wait_until_idle()
        now = await service.get(ask.id)
        assert now is not None
        assert (now.placement.destination.channel, now.to_retire) == ("C2", None)

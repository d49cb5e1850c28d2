"""A person's inbox: asks that name them or their group, or that were sent to them directly."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.actions import EndTurn
from answerback.core.errors import ForbiddenError, PlatformError, PlatformUnavailableError
from answerback.core.people import NOBODY_KNOWN
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback.service.inbox import Inbox
from tests.service_support import actor, ask_user
from tests.unit.bot.conftest import Parts

pytestmark = pytest.mark.rule("API-16")

ANN = Person(surface="chat", user_id="U1")


async def waiting(parts: Parts, person: Person = ANN, limit: int = 50) -> list[str]:
    """The texts of what waits for a person, over all pages."""
    surfaces = {"chat": parts.chat, "web": parts.web}
    texts: list[str] = []
    after: str | None = None
    while True:
        inbox = Inbox(parts.store.search, surfaces, NOBODY_KNOWN)
        page = await inbox.list_waiting_for(Actor(person), after, limit)
        texts += [ask.id for ask in page.rows]
        after = page.after
        if after is None:
            return texts


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_the_oldest_ask_that_names_a_person_or_their_group_comes_first(
    parts: Parts, limit: int
) -> None:
    service = parts.service()
    parts.chat.groups["U1"] = frozenset({"S1"})
    named = (["U1"], ["U2"], ["@S2"], ["@S2", "@S1"], ["anyone"], ["U2", "U1"])
    ids = [(await service.submit(ask_user(responders=list(who)))).ask.id for who in named]
    mine = [ids[0], ids[3], ids[5]]
    assert await waiting(parts, limit=limit) == mine
    await service.act(mine[0], EndTurn(), actor())
    assert await waiting(parts, limit=limit) == mine[1:]


async def test_an_ask_for_anyone_waits_for_the_person_it_was_sent_to(parts: Parts) -> None:
    service = parts.service()
    for to in ("chat:@U1", "chat:@U2", "chat:C1", "web"):
        await service.submit(ask_user(to=to, responders="anyone"))
    asks = {ask.placement.destination.user or ask.placement.destination.surface: ask.id
            for ask in (await parts.store.asks.page()).rows}  # fmt: skip
    assert await waiting(parts) == [asks["U1"]]
    assert await waiting(parts, Person(surface="web", user_id="operator")) == [asks["web"]]
    assert await waiting(parts, Person(surface="pager", user_id="U1")) == []


@pytest.mark.parametrize("error", [PlatformUnavailableError("away"), ForbiddenError("no")])
async def test_groups_that_cannot_be_looked_up_hide_no_other_asks(
    parts: Parts, error: PlatformError
) -> None:
    service = parts.service()
    await service.submit(ask_user(responders=["@S1"]))
    named = await service.submit(ask_user(responders=["U1"]))
    parts.chat.groups["U1"] = frozenset({"S1"})
    parts.chat.failures.append(error)
    assert await waiting(parts) == [named.ask.id]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_what_is_open_to_anyone_in_channels_is_listed_up_to_a_limit(
    parts: Parts, limit: int
) -> None:
    service = parts.service()
    asked: list[tuple[str, JsonValue]] = [
        ("chat:C1", "anyone"),
        ("chat:C1", ["U2"]),
        ("chat:@U2", "anyone"),
        ("web", "anyone"),
    ]
    asked += [("chat:C2", "anyone"), ("chat:C1", ["@S1"]), ("chat:C1", ["U1", "anyone"])]
    ids = [(await service.submit(ask_user(to=to, responders=who))).ask.id for to, who in asked]
    ended = await service.submit(ask_user(to="chat:C1", responders="anyone"))
    await service.act(ended.ask.id, EndTurn(), actor())
    found = await service.list_open_to_anyone("chat", limit)
    assert [ask.id for ask in found] == [ids[0], ids[4], ids[6]][:limit]
    assert list(await service.list_open_to_anyone("web", limit)) == []

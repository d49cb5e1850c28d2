"""When somebody first sees an ask on the web."""

from __future__ import annotations

import pytest

from answerback.core.ask import Destination
from answerback.core.errors import StoreError
from answerback.core.escalation import move
from answerback.ports.store import Write
from answerback_testing.example_asks import new_ask, with_values
from answerback_web.site import HIDDEN_HEADER
from tests.browser.site import INBOX, Site
from tests.service_support import WAIT
from tests.unit.adapters.web.examples import TEXT, path
from tests.unit.adapters.web.reader import Reader


@pytest.mark.rule("API-14")
@pytest.mark.parametrize("where", ["page", "read-only page", "inbox"])
async def test_an_ask_counts_as_shown_when_somebody_first_sees_it(
    web_site: Site, visitor: Reader, where: str
) -> None:
    shown: list[tuple[str, float]] = []
    service = web_site.service
    service.hooks.shown.listen(lambda ask, seconds: shown.append((ask.id, seconds)))
    ask = await web_site.ask(TEXT)
    link = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
    address = {"page": path(ask), "read-only page": link, "inbox": INBOX}[where]
    async with visitor.http.get(address, headers={HIDDEN_HEADER: "1"}) as hidden:
        assert hidden.status == 200
    assert shown == [], "fetched by a page that nobody sees"
    for _ in range(2):
        await visitor.open(address)
    [(shown_id, seconds)] = shown
    assert shown_id == ask.id
    assert 0 <= seconds < WAIT
    assert (await web_site.stored(ask)).placement.seen_since is not None


async def test_a_page_is_shown_even_if_that_cannot_be_stored(
    web_site: Site, visitor: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    ask = await web_site.ask(TEXT)
    monkeypatch.setattr(web_site.service.store.asks, "change", fails)
    assert (await visitor.open(path(ask))).status == 200


@pytest.mark.rule("API-14")
async def test_only_what_nobody_has_seen_anywhere_counts(web_site: Site) -> None:
    shown: list[str] = []
    service = web_site.service
    service.hooks.shown.listen(lambda ask, _: shown.append(ask.id))
    ask = await web_site.ask(TEXT)
    seen = with_values(new_ask(9, to=Destination(surface="chat")), was_visible=True)
    moved = move(seen, ask.placement.destination)
    await service.store.asks.create(Write(moved), None)
    await service.note_seen([ask, ask, moved])  # as two people who open it at the same time
    assert shown == [ask.id]
    assert (await web_site.stored(moved)).placement.was_visible

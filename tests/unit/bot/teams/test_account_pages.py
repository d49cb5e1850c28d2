"""The page on which people link accounts: both sides confirm; it is theirs alone, and only where it is switched on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.people import AccountLink
from answerback.core.person import AuthMethod, Person
from answerback.ports.person_key import operator_holder
from answerback_teams.stored_links import StoredLinks
from answerback_web.page_access import PageLinks
from tests.browser.site import KEY, OPERATOR, SECRET, Site, site
from tests.unit.adapters.web.reader import Document

LABELS = Labels()
ANN = Person(surface="web", user_id="ann", name="Ann <b>", known=AuthMethod.LINK)
EVE = Person(surface="web", user_id="eve", known=AuthMethod.LINK)
KEYS = {KEY: OPERATOR, "abk_ann": ANN, "abk_eve": EVE}
IN_CHAT = Person(surface="chat", user_id="U012", name="<i>ann</i>")


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, keys=KEYS, people_link=True) as made:
        yield made


def page_of(key: str, person: Person) -> str:
    return f"/inbox/{PageLinks(SECRET).inbox_name(operator_holder(key, person))}"


ANNS, EVES = page_of("abk_ann", ANN), page_of("abk_eve", EVE)


async def read(up: Site, path: str = f"{ANNS}/accounts") -> Document:
    async with aiohttp.ClientSession() as http, http.get(up.url + path) as response:
        return Document(await response.text(), response.status)


async def post(
    up: Site, form: dict[str, str], inbox: str = ANNS, listener: str = "", **headers: str
) -> int:
    own = {"Origin": up.url, "Sec-Fetch-Site": "same-origin"} | headers
    address = f"{listener or up.url}{inbox}/accounts"
    async with (
        aiohttp.ClientSession() as http,
        http.post(address, data=form, headers=own, allow_redirects=False) as response,
    ):
        return response.status


async def type_code(up: Site, by: Person = IN_CHAT, inbox: str = ANNS) -> None:
    """Start a link, and type its code in a chat and confirm it."""
    assert await post(up, {"do": "start"}, inbox) == 303
    text = (await read(up, f"{inbox}/accounts")).text
    code = text.partition("/answerback link ")[2].split()[0]
    shown = await up.service.commands.run(by, f"link {code}")
    await up.service.commands.run(by, shown.buttons[0].command, pressed=True)


@pytest.mark.rule("LINK-1", "LINK-5")
async def test_a_person_links_an_account_and_removes_it(up: Site) -> None:
    assert "/accounts" in (await read(up, ANNS)).markup
    await type_code(up)
    page = await read(up)
    shown = "<i>ann</i> (chat:U012) has typed your code. Whoever uses that account can then answer as you, Ann <b>."
    assert shown in page.text
    assert LABELS.link_ask_yours in page.text
    assert ("account", "chat:U012") in page.fields
    assert await post(up, {"do": "link", "account": "chat:U012"}, EVES) == 409
    assert up.service.people.name_of(IN_CHAT) is None
    assert await post(up, {"do": "link", "account": "chat:U012"}) == 303
    assert up.service.people.name_of(IN_CHAT) == "web:ann"
    assert "chat:U012" in (await read(up)).text
    assert "chat:U012" not in (await read(up, f"{EVES}/accounts")).text
    assert await post(up, {"do": "remove", "account": "chat:U012"}) == 303
    assert up.service.people.name_of(IN_CHAT) is None


@pytest.mark.rule("LINK-2", "SURFACE-2")
async def test_the_name_of_the_account_that_typed_the_code_cannot_change_the_sentence(
    up: Site,
) -> None:
    await type_code(up, replace(IN_CHAT, name="ann\u202e\n(chat:U1) is yours"))
    page = await read(up)
    assert "\u202e" not in page.markup
    assert "ann⟨U+202E⟩ (chat:U1) is yours (chat:U012) has typed your code" in page.text


@pytest.mark.rule("LINK-8")
async def test_of_two_pages_that_confirm_an_account_at_once_one_is_told_that_it_is_taken(
    up: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for inbox in (ANNS, EVES):
        await type_code(up, inbox=inbox)
    listing = StoredLinks(up.service.store.rows).list
    calls = 0

    async def list_late() -> Sequence[AccountLink]:
        """Have Ann's page confirm after Eve's has found the account free."""
        nonlocal calls
        calls += 1
        found = await listing()
        if calls == 1:
            assert await post(up, {"do": "link", "account": "chat:U012"}, ANNS) == 303
        return found

    monkeypatch.setattr(StoredLinks, "list", staticmethod(list_late))
    assert await post(up, {"do": "link", "account": "chat:U012"}, EVES) == 409
    assert up.service.people.name_of(IN_CHAT) == "web:ann"


@pytest.mark.rule("LINK-2")
async def test_a_person_refuses_an_account_that_is_not_theirs(up: Site) -> None:
    await type_code(up)
    assert await post(up, {"do": "reject", "account": "chat:U012"}) == 303
    assert LABELS.link_start in (await read(up)).text
    assert up.service.people.name_of(IN_CHAT) is None


@pytest.mark.rule("LINK-1")
async def test_nothing_is_done_for_strangers_other_sites_and_the_operator(
    up: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = page_of(KEY, OPERATOR)
    assert "/accounts" not in (await read(up, operators)).markup
    assert await post(up, {"do": "start"}, operators) == 303
    assert "/answerback link" not in (await read(up, f"{operators}/accounts")).text
    assert await post(up, {"do": "start"}, f"/inbox/{'0' * 32}") == 403
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    for listener in (up.url, up.public_url):
        assert await post(up, {"do": "start"}, ANNS, listener, **foreign) == 403
    assert await post(up, {"do": "else"}) == 422
    assert LABELS.link_start in (await read(up)).text

    async def fail(_key: str) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(up.service.store.drafts, "get", fail)
    assert (await read(up)).status == 503


@pytest.mark.rule("LINK-1")
async def test_there_is_no_such_page_where_it_is_off(tmp_path: Path) -> None:
    async with site(tmp_path, keys=KEYS) as up:
        assert (await read(up)).status == 404
        assert "/accounts" not in (await read(up, ANNS)).markup

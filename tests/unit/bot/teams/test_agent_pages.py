"""The page where people connect their agents: who is there, what a code does, and what no link can do."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

import aiohttp
import pytest

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod, Person
from answerback.ports.person_key import KeyHolder, operator_holder
from answerback.runtime.sockets import bind_socket, socket_url
from answerback.service.service import Service
from answerback_storage.sqlite.store import SqliteStore
from answerback_teams.agent_pages import AgentPages
from answerback_teams.sign_ins import WRONG_CODES, Codes, Issued, SignIns
from answerback_teams.stored_sign_ins import StoredSignIns
from answerback_teams.values import AskingProgram, OnboardingRules, RulesInForce
from answerback_web.adapter import WebSurface
from answerback_web.proxy_identity import TrustedProxies
from tests.browser.site import KEY, OPERATOR, SECRET, listen
from tests.service_support import ManualClock
from tests.unit.adapters.web.reader import Document

ANN = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK)
OWN = {"Sec-Fetch-Site": "same-origin"}
PROXIED = {"X-User": "kim", **OWN}
RULES = OnboardingRules(
    surfaces=frozenset({"web"}),
    owners=("web:ann", "web:kim"),
    route="web",
    agents_per_person=1,
    days=30,
)


@dataclass
class Rig:
    """Pages on a public listener, behind a proxy that signs Kim in."""

    sign_ins: SignIns
    http: aiohttp.ClientSession
    store: SqliteStore
    clock: ManualClock
    inbox: str = "/inbox/me/device"

    async def begin(self) -> Codes:
        codes = await self.sign_ins.begin(AskingProgram("Codex", "laptop", "192.0.2.1"))
        assert codes is not None
        return codes

    async def get(self, path: str, headers: dict[str, str] | None = None) -> Document:
        async with self.http.get(path, headers=headers or PROXIED) as response:
            return Document(await response.text(), response.status)

    async def post(
        self, path: str = "", headers: dict[str, str] | None = None, **form: str
    ) -> Document:
        sent = PROXIED if headers is None else headers
        async with self.http.post(path or self.inbox, data=form, headers=sent) as response:
            return Document(await response.text(), response.status)


@asynccontextmanager
async def rig_of(
    folder: Path, keys: dict[str, Person], bound: socket | None = None, **more: Any
) -> AsyncIterator[Rig]:
    async def holders() -> tuple[KeyHolder, ...]:
        return tuple(operator_holder(key, person) for key, person in keys.items())

    async def no_credential(_person: Person) -> str | None:
        return ""

    store, clock = SqliteStore(folder / "asks.db"), ManualClock()
    bound = bound or await bind_socket("127.0.0.1", 0, "server")
    await store.open()
    service = Service(store, clock, {}, known_surfaces=frozenset({"web"}))
    sign_ins = SignIns(
        store,
        clock,
        RulesInForce(RULES),
        service.people,
        {},
        no_credential,
        lambda _name: False,
    )
    surface = WebSurface(
        service,
        secret=SECRET,
        labels=Labels(),
        local_url=socket_url(bound),
        public_url=socket_url(bound),
        now=clock.now,
        holders=holders,
        extensions=[AgentPages(sign_ins)],
        **more,
    )
    runner, url = await listen(surface.public_routes(), local=False, bound=bound)
    async with aiohttp.ClientSession(url) as http:
        yield Rig(sign_ins, http, store, clock)
    service.stop_waiting()
    await runner.cleanup()
    await store.close()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    bound = await bind_socket("127.0.0.1", 0, "server")
    networks = [ipaddress.ip_network("127.0.0.1")]
    proxies = TrustedProxies("X-User", networks, socket_url(bound))
    keys = {KEY: OPERATOR, "abp_ann": ANN}
    async with rig_of(tmp_path, keys, bound, proxies=proxies) as running:
        yield running


@pytest.mark.rule("ONBOARD-3", "ONBOARD-8")
async def test_a_person_whom_the_proxy_names_connects_and_removes_an_agent(rig: Rig) -> None:
    codes = await rig.begin()
    door = await rig.get("/device")
    assert "You have not connected any agents." in door.text
    shown = await rig.post(do="look_up", code=codes.user)
    assert "Codex wants to ask people questions as your agent." in shown.text
    assert "If someone sent you this code, deny it" in shown.text
    assert sorted(shown.buttons) == ["approve", "deny"]
    sign_in = shown.value("id") or ""
    done = await rig.post(do="approve", id=sign_in)
    assert "Approved. Codex gets its token" in done.text
    issued = await rig.sign_ins.poll(codes.device)
    assert isinstance(issued, Issued)
    page = await rig.get(rig.inbox)
    assert f"{issued.agent.name}: Codex on laptop, from 192.0.2.1, until " in page.text
    assert issued.token not in page.markup
    assert codes.user not in page.markup
    left = await rig.post(do="remove", agent=issued.agent.name)
    assert "You have not connected any agents." in left.text
    assert await rig.sign_ins.find_agent(issued.token) is None


@pytest.mark.rule("ONBOARD-3")
async def test_no_link_fills_a_code_in_or_decides(rig: Rig) -> None:
    codes = await rig.begin()
    for path in ("/device", rig.inbox):
        query = f"?user_code={codes.user}&code={codes.user}&do=approve"
        page = await rig.get(path + query)
        assert page.status == 200
        assert codes.user not in page.markup
        assert "approve" not in page.buttons
    async with rig.http.head(f"{rig.inbox}?code={codes.user}", headers=PROXIED) as response:
        assert response.status in {200, 405}
    blind = await rig.post(do="approve", id=codes.user)
    assert "approve" in blind.buttons, "it is shown first"


@pytest.mark.rule("ONBOARD-3")
@pytest.mark.parametrize(
    "headers",
    [
        {"X-User": "kim"},
        {"X-User": "kim", "Sec-Fetch-Site": "cross-site"},
        {"X-User": "kim", "Origin": "https://evil.example"},
    ],
)
async def test_no_other_site_decides_or_removes_in_a_persons_name(
    rig: Rig, headers: dict[str, str]
) -> None:
    codes = await rig.begin()
    shown = await rig.post(do="look_up", code=codes.user)
    for form in (
        {"do": "look_up", "code": codes.user},
        {"do": "approve", "id": shown.value("id") or ""},
        {"do": "remove", "agent": "x"},
    ):
        refused = await rig.post(headers=headers, **form)
        assert refused.status == 403
    assert await rig.sign_ins.poll(codes.device) == "authorization_pending"


@pytest.mark.rule("ONBOARD-3", "ONBOARD-6")
async def test_refusals_say_why(rig: Rig) -> None:
    codes = await rig.begin()
    eve = {"X-User": "eve", **OWN}
    refused = await rig.post(headers=eve, do="look_up", code=codes.user)
    assert refused.status == 422
    assert "You may not connect agents here." in refused.text
    assert "Codex" not in refused.text
    for _ in range(WRONG_CODES):
        wrong = await rig.post(do="look_up", code="BBBBBBBB")
        assert (wrong.status, "No program is waiting for this code" in wrong.text) == (422, True)
    assert (await rig.post(do="look_up", code=codes.user)).status == 429


@pytest.mark.rule("ONBOARD-3")
async def test_a_denial_is_said(rig: Rig) -> None:
    codes = await rig.begin()
    shown = await rig.post(do="look_up", code=codes.user)
    done = await rig.post(do="deny", id=shown.value("id") or "")
    assert "Denied. Codex gets no token." in done.text
    assert await rig.sign_ins.poll(codes.device) == "access_denied"


@pytest.mark.rule("ONBOARD-3")
async def test_others_enter_their_key_first(rig: Rig) -> None:
    door = await rig.get("/device", OWN)
    assert (door.status, door.action) == (200, "device")
    wrong = await rig.post("/device", OWN, key="abp_nobody")
    assert wrong.status == 403
    assert "This key is not valid" in wrong.text
    operators = await rig.post("/device", OWN, key=KEY)
    assert operators.status == 403, "it has no inbox on the public listener"
    assert "stands for no particular person" in operators.text
    page = await rig.post("/device", OWN, key="abp_ann")
    assert page.status == 200
    assert "Your agents" in page.text
    nobody = await rig.get("/inbox/me/device", OWN)
    assert (nobody.status, nobody.action) == (403, "../../device")
    unknown = await rig.get("/inbox/0123/device", OWN)
    assert unknown.status == 403
    assert "This link is invalid" in unknown.text
    assert (await rig.post("/inbox/0123/device", OWN, do="remove", agent="x")).status == 403
    forged = await rig.post("/device", {"Origin": "https://evil.example"}, key="abp_ann")
    assert forged.status == 403


@pytest.mark.rule("AUTH-15")
@pytest.mark.parametrize(
    "headers", [{"X-User": ""}, {"X-User": " "}, {"X-User": "kim", "Host": "127.0.0.1:99999"}]
)
async def test_a_proxy_that_names_nobody_or_another_host_signs_nobody_in(
    rig: Rig, headers: dict[str, str]
) -> None:
    page = await rig.get("/inbox/me/device", headers | OWN)
    assert (page.status, page.action) == (403, "../../device")


@pytest.mark.rule("ONBOARD-3")
async def test_where_nobody_can_have_an_inbox_there_is_no_door(tmp_path: Path) -> None:
    async with rig_of(tmp_path, {KEY: OPERATOR}) as rig:
        assert (await rig.get("/device", OWN)).status == 404


@pytest.mark.rule("ONBOARD-3")
async def test_the_inbox_leads_to_the_page_while_people_may_connect_agents(rig: Rig) -> None:
    assert "../inbox/me/device" in (await rig.get("/inbox/me")).links
    rig.sign_ins._in_force.rules = OnboardingRules()
    assert "../inbox/me/device" not in (await rig.get("/inbox/me")).links


async def test_a_database_that_fails_is_said_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("disk")

    monkeypatch.setattr(StoredSignIns, "list_tokens", fail)
    page = await rig.get(rig.inbox)
    assert (page.status, "cannot read its database" in page.text) == (503, True)

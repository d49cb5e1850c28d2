"""Programs sign in over HTTP: the metadata, both OAuth calls and their errors, and the tokens that come of it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from answerback.core.errors import StoreError
from answerback.core.person import AuthMethod, Person
from answerback.service.submission_request import Route
from answerback_storage.personal_links_file import PersonalLinksFile
from answerback_teams import oauth
from answerback_teams.settings import OnboardingSettings
from answerback_teams.stored_sign_ins import StoredSignIns
from answerback_web.plugin import WebSettings
from tests.unit.bot.api.conftest import FORM, Json, Serve, Served

ANN = Person(surface="web", user_id="ann", name="ann", known=AuthMethod.LINK)
BEGIN: dict[str, str] = {"client_id": "answerback", "program": "Claude Code", "machine": "laptop"}
TABLES: dict[str, Any] = {
    "routes": {"team": Route(to="web", responders=("ann",))},
    "onboarding": OnboardingSettings(owners=("ann", "bob"), route="team", agents_per_person=2),
}


@pytest.fixture
def anns_key(tmp_path: Path) -> str:
    """The key of Ann's personal link."""
    key = PersonalLinksFile(tmp_path / "asks.db").add("ann", 1.0)
    assert key is not None
    return key


@asynccontextmanager
async def onboarding(serve: Serve, **more: Any) -> AsyncIterator[Served]:
    """A service without configured agents, where Ann may connect some."""
    async with serve(**TABLES | more) as api:
        yield api


async def send(api: Served, call: str, form: dict[str, str], **headers: str) -> tuple[int, Json]:
    async with api.http.post(f"/oauth/{call}", data=form, headers=headers) as response:
        assert response.headers["Cache-Control"] == "no-store"
        return response.status, await response.json()


async def begin(api: Served, **headers: str) -> Json:
    status, body = await send(api, "device_authorization", BEGIN, **headers)
    assert status == 200, body
    return body


async def poll(api: Served, device_code: str, **more: str) -> tuple[int, Json]:
    form = {"grant_type": oauth.DEVICE_GRANT, "device_code": device_code, "client_id": "answerback"}
    return await send(api, "token", form | more)


async def page(api: Served, key: str) -> str:
    """Return the address of the page where the holder of a key connects agents."""
    async with api.http.post("/device", data={"key": key}, allow_redirects=False) as response:
        assert response.status == 303, await response.text()
        return "/" + response.headers["Location"]


async def post(api: Served, address: str, **form: str) -> str:
    async with api.http.post(address, data=form) as response:
        return await response.text()


async def connect(api: Served, key: str) -> Json:
    """Connect an agent as a person does; return the response with its token."""
    begun, address = await begin(api), await page(api, key)
    shown = await post(api, address, do="look_up", code=begun["user_code"])
    (sign_in,) = re.findall(r'name="id" value="(sign_in_\w+)"', shown)
    await post(api, address, do="approve", id=sign_in)
    status, body = await poll(api, begun["device_code"])
    assert status == 200, body
    return body


@pytest.mark.rule("ONBOARD-2")
async def test_the_metadata_announce_both_calls_and_no_others(serve: Serve) -> None:
    async with onboarding(serve) as api:
        status, found = await api.get(oauth.METADATA)
        issuer = api.running.api_url
        assert (status, found["issuer"]) == (200, issuer)
        assert found["device_authorization_endpoint"] == f"{issuer}/oauth/device_authorization"
        assert found["token_endpoint"] == f"{issuer}/oauth/token"
        assert found["grant_types_supported"] == [oauth.DEVICE_GRANT]
        assert found["response_types_supported"] == []
        status, found = await api.get(oauth.METADATA, **{"X-Forwarded-Proto": "https"})
        assert found["issuer"] == issuer, "nobody trusts this caller"
    trusting = {"web": WebSettings(trusted_proxies=("127.0.0.1",))}
    async with onboarding(serve, **trusting) as api:
        headers = {"X-Forwarded-Proto": "https", "Host": "ask.example.com"}
        status, found = await api.get(oauth.METADATA, **headers)
        assert found["issuer"] == "https://ask.example.com"


@pytest.mark.rule("ONBOARD-1")
async def test_callers_need_tokens_from_the_start_and_without_onboarding_nobody_can_sign_in(
    serve: Serve,
) -> None:
    async with onboarding(serve) as api:
        for path in ("/v1/asks", "/v1/answers", "/v1/tools"):
            async with api.http.get(path) as response:
                assert response.status == 401, path
        for path in ("/v1/asks", "/mcp", "/hooks/claude"):
            async with api.http.post(path, json={"name": "ask_user"}) as response:
                assert response.status == 401, path
    async with serve({"ci": "agent"}) as api:
        assert (await api.get(oauth.METADATA))[0] == 404
        async with api.http.post("/oauth/device_authorization", data=BEGIN) as response:
            assert response.status == 404
    async with serve() as api:
        async with api.http.get(oauth.METADATA) as response:
            assert response.status == 404
        async with api.http.get("/device") as response:
            assert response.status == 404


@pytest.mark.rule("ONBOARD-2", "ONBOARD-4", "ONBOARD-10")
async def test_a_program_signs_in_and_asks_in_its_owners_name(serve: Serve, anns_key: str) -> None:
    async with onboarding(serve) as api:
        begun = await begin(api)
        assert sorted(begun) == [
            *("device_code", "expires_in", "interval", "user_code", "verification_uri")
        ]
        assert begun["verification_uri"] == f"{api.running.api_url}/device"
        assert (begun["expires_in"], begun["interval"]) == (600, 5)
        status, body = await poll(api, begun["device_code"])
        assert (status, body["error"]) == (400, "authorization_pending")
        status, body = await poll(api, begun["device_code"])
        assert (status, body["error"]) == (400, "slow_down")
        issued = await connect(api, anns_key)
        assert (issued["token_type"], issued["expires_in"]) == ("Bearer", 90 * 86_400)
        api.tokens["hers"] = issued["access_token"]
        hers = api.bearer("hers")
        ask = await api.asked(to="team", headers=hers)
        assert ask["origin"]["owner"] == "web:ann"
        assert ask["origin"]["agent"] == issued["agent"]
        assert ask["origin"]["label"] == "Claude Code (ann)"
        body = {"name": "ask_user", "arguments": FORM, "to": "web"}
        async with api.http.post("/v1/asks", json=body, headers=hers) as response:
            assert response.status == 422, "it has its route, and names no places"
        forged = {**body, "to": "team", "origin": {"owner": "bob"}}
        async with api.http.post("/v1/asks", json=forged, headers=hers) as response:
            assert response.status == 422, "the owner is never taken from the call"
        action = {"action": "answer", "value": True}
        path = f"/v1/asks/{ask['id']}/actions"
        async with api.http.post(path, json=action, headers=hers) as response:
            assert response.status == 403, "an agent never answers"
        address = await page(api, anns_key)
        await post(api, address, do="remove", agent=issued["agent"])
        async with api.http.get("/v1/asks", headers=hers) as response:
            assert response.status == 401, "it is refused at once"


@pytest.mark.rule("ONBOARD-2")
@pytest.mark.parametrize(
    ("call", "form", "status", "error"),
    [
        ("device_authorization", {}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"client_id": "other"}, 401, "invalid_client"),
        ("device_authorization", BEGIN | {"program": ""}, 400, "invalid_request"),
        ("device_authorization", {"client_id": "answerback"}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"machine": "x" * 41}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"program": "Claude\u202e edoC"}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"program": "Сlaude"}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"program": "Claude Code\n"}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"machine": "a<b>"}, 400, "invalid_request"),
        ("device_authorization", BEGIN | {"more": "x" * 4_096}, 413, "invalid_request"),
        ("token", {"client_id": "answerback"}, 400, "invalid_request"),
        ("token", {"client_id": "answerback", "grant_type": "x"}, 400, "unsupported_grant_type"),
        (
            "token",
            {"client_id": "answerback", "grant_type": oauth.DEVICE_GRANT},
            400,
            "invalid_request",
        ),
        (
            "token",
            {"client_id": "x", "grant_type": oauth.DEVICE_GRANT, "device_code": "x"},
            401,
            "invalid_client",
        ),
        (
            "token",
            {"client_id": "answerback", "grant_type": oauth.DEVICE_GRANT, "device_code": "x"},
            400,
            "invalid_grant",
        ),
    ],
)
async def test_errors_are_those_of_the_standards(
    serve: Serve, call: str, form: dict[str, str], status: int, error: str
) -> None:
    async with onboarding(serve) as api:
        got, body = await send(api, call, form)
        assert (got, body["error"]) == (status, error), body
        assert body["error_description"]


@pytest.mark.rule("ONBOARD-2")
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"client_id=answerback&client_id=answerback", "application/x-www-form-urlencoded", 400),
        (b"client_id=%ff", "application/x-www-form-urlencoded", 400),
        (b"\xff=1", "application/x-www-form-urlencoded", 400),
        (b"nothing", "application/x-www-form-urlencoded", 400),
        (b'{"client_id": "answerback"}', "application/json", 400),
        (b"x=" + b"y" * 4_096, "application/x-www-form-urlencoded", 413),
    ],
)
async def test_what_is_no_form_is_refused(
    serve: Serve, body: bytes, kind: str, status: int
) -> None:
    async with onboarding(serve) as api:
        for call in ("device_authorization", "token"):
            headers = {"Content-Type": kind}
            async with api.http.post(f"/oauth/{call}", data=body, headers=headers) as response:
                assert response.status == status
                assert (await response.json())["error"] == "invalid_request"


@pytest.mark.rule("ONBOARD-2")
async def test_a_form_of_4_kib_is_read(serve: Serve) -> None:
    async with onboarding(serve) as api:
        rest = oauth.MAX_BODY - len("client_id=answerback&program=a&machine=b&more=")
        form = {"client_id": "answerback", "program": "a", "machine": "b", "more": "x" * rest}
        assert (await send(api, "device_authorization", form))[0] == 200
        form["more"] += "x"
        assert (await send(api, "device_authorization", form))[0] == 413


@pytest.mark.rule("ONBOARD-6")
async def test_calls_without_a_token_are_limited_by_address_and_in_all(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "BEGINNINGS", (2, 5))
    monkeypatch.setattr(oauth, "POLLS", (1, 9))
    trusting = {"web": WebSettings(trusted_proxies=("127.0.0.1", "10.0.0.0/8"))}
    async with onboarding(serve, **trusting) as api:

        async def begins(forwarded: str) -> int:
            headers = {"X-Forwarded-For": forwarded}
            async with api.http.post(
                "/oauth/device_authorization", data=BEGIN, headers=headers
            ) as response:
                if response.status == 429:
                    assert 0 < int(response.headers["Retry-After"]) <= 60
                    assert (await response.json())["error"] == "slow_down"
                return response.status

        assert [await begins("192.0.2.1") for _ in range(3)] == [200, 200, 429]
        assert await begins("192.0.2.9, 192.0.2.1, 10.0.0.1") == 429, "only the last one counts"
        assert [await begins(f"2001:db8::{n}") for n in (1, 2, 3)] == [200, 200, 429]
        assert await begins("192.0.2.2") == 200
        assert await begins("192.0.2.3") == 429, "five in all"
        polls = [await poll(api, "x") for _ in range(2)]
        assert [status for status, _ in polls] == [400, 429]


@pytest.mark.rule("ONBOARD-6")
async def test_beyond_the_most_that_can_wait_a_program_is_told_to_come_back(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerback_teams.sign_ins.MAX_WAITING", 1)
    async with onboarding(serve) as api:
        await begin(api)
        status, body = await send(api, "device_authorization", BEGIN)
        assert (status, body["error"]) == (429, "slow_down")


@pytest.mark.rule("ONBOARD-3")
@pytest.mark.parametrize(
    ("proxies", "forwarded", "shown"),
    [
        ((), "192.0.2.1", "The request came from 127.0.0.1."),
        (("127.0.0.1",), "192.0.2.1", "The request came from 192.0.2.1, as the proxy reports."),
        (("127.0.0.1",), "6.6.6.6, ::ffff:192.0.2.1", "192.0.2.1, as the proxy reports."),
        (("127.0.0.1",), "192.0.2.1, junk", "The request came from 127.0.0.1."),
        (("127.0.0.1",), "", "The request came from 127.0.0.1."),
    ],
)
async def test_a_person_reads_where_the_program_called_from_and_who_says_so(
    serve: Serve, anns_key: str, proxies: tuple[str, ...], forwarded: str, shown: str
) -> None:
    trusting = {"web": WebSettings(trusted_proxies=proxies)} if proxies else {}
    async with onboarding(serve, **trusting) as api:
        begun = await begin(api, **{"X-Forwarded-For": forwarded})
        address = await page(api, anns_key)
        text = await post(api, address, do="look_up", code=begun["user_code"])
        assert shown in text
        assert "Claude Code wants to ask people questions as your agent." in text
        assert "It says it runs on “laptop”." in text
        assert "on the route team in your name for 90 days" in text
        assert "6.6.6.6" not in text


@pytest.mark.rule("ONBOARD-3")
async def test_the_operators_key_approves_nothing_but_sees_and_removes_everything(
    serve: Serve, anns_key: str
) -> None:
    async with onboarding(serve) as api:
        issued, begun = await connect(api, anns_key), await begin(api)
        address = await page(api, api.person["Authorization"].removeprefix("Bearer "))
        text = await post(api, address, do="look_up", code=begun["user_code"])
        assert "stands for no particular person" in text
        assert "sign_in_" not in text
        assert issued["agent"] in text
        await post(api, address, do="remove", agent=issued["agent"])
        async with api.http.get(address) as response:
            assert issued["agent"] not in await response.text()


@pytest.mark.rule("ONBOARD-4")
async def test_a_database_that_fails_is_said_so_and_costs_nothing(
    serve: Serve, anns_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with onboarding(serve) as api:
        begun = await begin(api)

        async def fail(*_: object) -> None:
            raise StoreError("disk")

        with monkeypatch.context() as failing:
            failing.setattr(StoredSignIns, "find_sign_in", fail)
            status, body = await poll(api, begun["device_code"])
            assert (status, body["error"]) == (503, "temporarily_unavailable")
        status, body = await poll(api, begun["device_code"])
        assert body["error"] == "authorization_pending"

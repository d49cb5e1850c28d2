"""Tokens and roles: who may call what, and who sees whose asks."""

from __future__ import annotations

import pytest

from answerback.api.auth import AgentTokens
from answerback.api.routes import all_operations
from answerback.ports.operation import AGENT_ONLY
from answerback.ports.person_key import hash_of, new_token
from answerback.service.submission_request import Agent
from tests.unit.adapters.web.reader import reader
from tests.unit.bot.api.conftest import FORM, Json, Serve, Served

ROLES = {"ci": "agent", "other": "agent", "console": "surface"}
CALL: Json = {"name": "ask_user", "arguments": FORM, "to": "web"}
OPEN = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]


@pytest.mark.rule("AUTH-2")
def test_tokens_are_random_and_only_their_hash_is_stored() -> None:
    one, other = new_token(), new_token()
    assert one != other
    assert len(one) >= 43
    assert hash_of(one) == hash_of(one) != hash_of(other)
    assert one not in hash_of(one)


@pytest.mark.rule("GRANT-6")
def test_an_agent_vouches_for_nobody_even_if_a_front_end_had_its_name() -> None:
    agents = {"1": Agent(name="bot"), "2": Agent(name="console", role="surface")}
    tokens = AgentTokens(agents, required=True)
    assert [tokens.front_end_hash(name) for name in ("bot", "console", "none")] == [None, "2", None]


@pytest.mark.rule("AUTH-1")
@pytest.mark.parametrize(
    ("authorization", "title"),
    [
        (None, "Token missing"),
        ("", "Token missing"),
        ("Bearer", "Token missing"),
        ("Bearer ", "Token missing"),
        ("Basic Y2k6Y2k=", "Token missing"),
        ("Bearer ab_wrong", "Token unknown"),
        ("Bearer \xe9\xff", "Token unknown"),
    ],
)
async def test_without_a_known_token_nothing_is_revealed(
    serve: Serve, authorization: str | None, title: str
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    async with serve(ROLES) as api, api.http.get("/v1/asks", headers=headers) as response:
        assert response.status == 401
        assert response.headers["WWW-Authenticate"].startswith("Bearer ")
        assert (await response.json(content_type=None))["title"] == title


@pytest.mark.rule("AUTH-1")
async def test_monitoring_needs_no_token(serve: Serve) -> None:
    async with serve(ROLES) as api:
        for path in OPEN:
            async with api.http.get(path) as response:
                assert response.status == 200, path


@pytest.mark.rule("AUTH-1")
async def test_the_scheme_is_case_insensitive(serve: Serve) -> None:
    async with serve(ROLES) as api:
        headers = {"Authorization": f"bearer  {api.tokens['ci']}"}
        async with api.http.get("/v1/asks", headers=headers) as response:
            assert response.status == 200


async def status(api: Served, who: str, method: str, path: str, body: Json | None = None) -> int:
    async with api.http.request(method, path, json=body, headers=api.bearer(who)) as response:
        return response.status


@pytest.mark.rule("AUTH-3")
async def test_an_agent_sees_only_its_own_asks(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        path = f"/v1/asks/{ask['id']}"
        for tail in ("", "/record", "/events"):
            assert await status(api, "other", "GET", path + tail) == 404
        assert await status(api, "other", "DELETE", path) == 404
        assert await status(api, "console", "GET", path) == 200
        for who, count in (("ci", 1), ("other", 0), ("console", 1)):
            async with api.http.get("/v1/asks", headers=api.bearer(who)) as response:
                assert len((await response.json())["asks"]) == count
        assert await status(api, "ci", "DELETE", path) == 200


@pytest.mark.rule("AUTH-7")
async def test_a_surface_may_not_submit_or_withdraw(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        assert await status(api, "console", "POST", "/v1/asks", CALL) == 403
        assert await status(api, "console", "DELETE", f"/v1/asks/{ask['id']}") == 403
        assert await status(api, "console", "GET", "/v1/deliveries") == 403


@pytest.mark.rule("AUTH-8")
async def test_a_persons_key_is_told_who_may_call(serve: Serve) -> None:
    agents = [(one.method, one.path) for one in all_operations() if one.roles == AGENT_ONLY]
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        for method, path in [*agents, ("POST", "/mcp"), ("POST", "/hooks/claude")]:
            at = path.format(**ask)
            async with api.http.request(method, at, json=CALL, headers=api.person) as response:
                body = await response.json(content_type=None)
            assert (response.status, body["title"]) == (403, "Not for people's keys"), path
            assert body["detail"] == "This is for agents: send an agent's token."


@pytest.mark.rule("AUTH-3")
async def test_the_key_of_one_agent_is_not_another_agents(serve: Serve) -> None:
    async with serve(ROLES) as api:
        first = await api.asked(headers={"Idempotency-Key": "k", **api.bearer("ci")})
        second = await api.asked(headers={"Idempotency-Key": "k", **api.bearer("other")})
        assert first["id"] != second["id"]


@pytest.mark.rule("AUTH-11", "AUTH-12")
@pytest.mark.parametrize("roles", [{}, ROLES], ids=["without tokens", "with tokens"])
async def test_an_agent_can_read_but_not_answer_the_page_it_is_given(
    serve: Serve, roles: dict[str, str]
) -> None:
    async with serve(roles) as api, reader(api.running.api_url) as agent:
        headers = api.bearer("ci") if roles else None
        ask = await api.asked(headers=headers)
        address = ask["thread"]["url"].removeprefix(api.running.api_url)
        page = await agent.open(address)
        assert "Apply the proposed migration?" in page.text
        assert "inbox" not in page.markup
        for do in ("yes", "reply", "end_turn", "end_turn_now", "back", "submit", "stay"):
            result = await agent.press(page, address, do, {"revision": "1", "at": "0"})
            assert result.status == 403
            assert "Location" not in result.headers
        for key in ("", "x", "é", ask["id"], *api.tokens.values()):
            result = await agent.press(
                page, address, "yes", {"key": key, "revision": "1", "at": "0"}
            )
            assert result.status == 403
        assert (await api.get(f"/v1/asks/{ask['id']}", **(headers or {}))) == (200, ask)
        assert not agent.http.cookie_jar

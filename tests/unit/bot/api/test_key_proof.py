"""The person's key is sent only to the configured address, and only after a proof that the service listens there."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from answerback.ports.person_key import hash_of
from answerback_agents.cli.api_client import resolve_access
from answerback_base.key_proof import key_proof
from answerback_base.token_proof import token_id
from answerback_storage.person_key_file import PersonKeyFile
from tests.unit.bot.api.conftest import Serve, Served
from tests.unit.bot.api.test_export import run_command

NONCE = "0123456789abcdef" * 2


@dataclass
class Stranger:
    """A program that is not the service, and what it received."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """The Authorization headers."""


@asynccontextmanager
async def stranger(body: str = "", *, forwards_to: str | None = None) -> AsyncIterator[Stranger]:
    """Run a stranger that answers everything with one body, or forwards it to the service."""
    seen = Stranger()

    async def answer(request: web.Request) -> web.Response:
        seen.paths.append(request.path)
        seen.keys += request.headers.getall("Authorization", [])
        if forwards_to is None:
            return web.Response(text=body)
        headers = {"Host": urlsplit(forwards_to).netloc}
        async with (
            aiohttp.ClientSession() as http,
            http.request(request.method, forwards_to + request.path_qs, headers=headers) as known,
        ):
            return web.Response(status=known.status, body=await known.read())

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    async with TestServer(app) as server:
        seen.url = str(server.make_url("")).rstrip("/")
        yield seen


def configuration(tmp_path: Path, url: str) -> Path:
    """Write the configuration of a service at this address, with the database of the running one."""
    file = tmp_path / "answerback.toml"
    file.write_text(
        f'[server]\nport = {urlsplit(url).port}\n[storage]\nurl = "sqlite:///{tmp_path}/asks.db"\n'
    )
    return file


@pytest.mark.rule("AUTH-17")
async def test_the_service_proves_that_it_knows_the_key_for_the_address_of_the_connection(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(roles={"ci": "agent"}) as api:
        status, body = await api.get(f"/v1/proof?nonce={NONCE}")
        port = urlsplit(api.running.api_url).port
        key = api.person["Authorization"].removeprefix("Bearer ").encode()
        message = f"answerback:proof:{NONCE}:127.0.0.1:{port}".encode()
        assert (status, body) == (200, {"proof": hmac.digest(key, message, "sha256").hex()})
        for wrong in ("", "?nonce=", f"?nonce={NONCE}:", f"?nonce={NONCE}&nonce={NONCE}"):
            assert (await api.get(f"/v1/proof{wrong}"))[0] == 400
        PersonKeyFile(tmp_path / "asks.db").path.unlink()
        assert (await api.get(f"/v1/proof?nonce={NONCE}"))[0] == 404


@pytest.mark.rule("AUTH-17")
def test_an_address_is_the_same_however_it_is_written() -> None:
    proof = key_proof(b"k", NONCE, "127.0.0.1", 1)
    assert key_proof(b"k", NONCE, "::ffff:127.0.0.1", 1) == proof
    assert key_proof(b"k", NONCE, "127.0.0.1", 2) != proof
    assert key_proof(b"k", NONCE, "::1", 1) == key_proof(b"k", NONCE, "0:0:0:0:0:0:0:1%lo", 1)


@pytest.mark.rule("AUTH-17")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_command_sends_the_key_to_the_configured_service(
    api: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("127.0.0.1", 0))])
    url = api.running.api_url
    config = str(configuration(tmp_path, url))
    ask = await api.asked()
    await api.http.delete(f"/v1/asks/{ask['id']}")
    where = ("--url", url.replace("127.0.0.1", host), "--config", config)
    done = await run_command("erase", ask["id"], "--yes", *where)
    assert (done.exit_code, done.stderr) == (0, f"{ask['id']}: erased.\n")
    done = await run_command("export", "--config", config)
    assert done.exit_code == 0
    assert '"type":"end"' in done.stdout


@pytest.mark.rule("AUTH-17")
async def test_a_command_sends_no_key_to_an_address_that_is_not_the_configured_one(
    api: Served, tmp_path: Path
) -> None:
    config = str(configuration(tmp_path, api.running.api_url))
    async with stranger('{"asks": [], "next": null}') as other:
        await run_command("erase", "ask_1", "--yes", "--url", other.url, "--config", config)
        await run_command("export", "--url", other.url, "--config", config)
        assert other.paths == ["/v1/asks/ask_1/erase", "/v1/export"]
        assert other.keys == []


@pytest.mark.rule("AUTH-17", "CLI-12")
@pytest.mark.parametrize(
    "body",
    ["", "[]", '{"proof": 5}', '{"proof": "\\ud800"}', "[" * 4096, '{"proof": ""}', "x" * 9_999],
)
async def test_a_program_on_the_configured_port_that_proves_nothing_gets_no_key(
    api: Served, tmp_path: Path, body: str
) -> None:
    async with stranger(body) as other:
        config = str(configuration(tmp_path, other.url))
        for command in (("erase", "ask_1", "--yes"), ("export",)):
            done = await run_command(*command, "--config", config)
            assert done.exit_code == 1
            assert "did not prove that it is your Answerback service" in done.stderr
        assert set(other.paths) == {"/v1/proof"}
        assert other.keys == []


@pytest.mark.rule("AUTH-17")
async def test_a_program_that_forwards_the_challenge_to_the_service_gets_no_key(
    api: Served, tmp_path: Path
) -> None:
    async with stranger(forwards_to=api.running.api_url) as other:
        config = str(configuration(tmp_path, other.url))
        done = await run_command("erase", "ask_1", "--yes", "--config", config)
        assert "did not prove that it is your Answerback service" in done.stderr
        assert (other.paths, other.keys) == (["/v1/proof"], [])


@pytest.mark.rule("AUTH-8", "AUTH-17")
def test_which_addresses_get_the_key_of_this_folder(tmp_path: Path) -> None:
    config = configuration(tmp_path, "http://127.0.0.1:8420")
    assert resolve_access(None, None, config).key is None
    key = PersonKeyFile(tmp_path / "asks.db").ensure()
    for url in (None, "http://127.0.0.1:8420", "http://[::1]:8420/"):
        access = resolve_access(url, None, config)
        assert (access.token, access.key) == (None, key)
    for url in (
        "http://127.0.0.1:8421",
        "http://127.0.0.1",
        "http://127.0.0.1:8420/elsewhere",
        "https://127.0.0.1:8420",
        "http://answerback.example:8420",
    ):
        assert resolve_access(url, None, config).key is None
    assert resolve_access("http://answerback.example", "t", config).token == "t"
    any_port = configuration(tmp_path, "http://127.0.0.1:0")
    assert resolve_access("http://127.0.0.1:8421", None, any_port).key == key
    elsewhere = tmp_path / "elsewhere.toml"
    agent = f'[agents.ci]\ntoken_hash = "{hash_of("t")}"\n[server]\nhost = "10.0.0.5"\n'
    elsewhere.write_text(config.read_text().replace("[server]\n", agent))
    assert resolve_access("http://127.0.0.1:8420", None, elsewhere).key is None


@pytest.mark.rule("AUTH-18")
async def test_the_service_proves_that_it_knows_an_agents_token(serve: Serve) -> None:
    async with serve(roles={"ci": "agent", "front": "surface"}) as api:
        for hashed in map(hash_of, api.tokens.values()):
            status, body = await api.get(f"/v1/proof?nonce={NONCE}&token={token_id(hashed)}")
            message = f"answerback:token-proof:{NONCE}".encode()
            proof = hmac.digest(hashed.encode(), message, "sha256").hex()
            assert (status, body) == (200, {"proof": proof})
        unknown = token_id(hash_of("ab_unknown"))
        status, body = await api.get(f"/v1/proof?nonce={NONCE}&token={unknown}")
        assert (status, body["title"]) == (404, "Token unknown")
        assert (await api.get(f"/v1/proof?nonce={NONCE}&token={unknown}0"))[0] == 400

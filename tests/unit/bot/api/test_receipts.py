"""Receipts over the API, the keys that check them, and approvals that are consumed once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from answerback.core.errors import ConfigError
from answerback.ports.receipt_key import SigningKey, new_private_key, public_key_of
from answerback.runtime.config import PublicSettings, settings_type
from answerback_receipts.checks import check
from answerback_receipts.key_file import ReceiptKeyFile
from answerback_receipts.keys import place_in
from answerback_receipts.settings import ReceiptSettings
from tests.unit.bot.api.conftest import Json, Serve, Served, until
from tests.unit.bot.api.test_too_late import APPROVAL, asked, post

ROLES = {"bot": "agent", "other": "agent", "front": "surface"}


async def keys_of(api: Served) -> Any:
    status, body = await api.get("/.well-known/answerback-receipts.json")
    assert status == 200
    found = [public_key_of(jwk) for jwk in body["keys"]]
    return {key.kid: key for key in found if key is not None}


async def linked(api: Served, ask: Json) -> Json:
    """Return the receipt of an ask, once it is in the chain."""
    body: Json = {}

    async def is_linked() -> bool:
        body.update((await api.get(f"/v1/asks/{ask['id']}/receipt"))[1])
        return body["link"] is not None

    await until(is_linked)
    return body


@pytest.mark.rule("RCPT-1")
@pytest.mark.rule("RCPT-2")
@pytest.mark.rule("RCPT-4")
async def test_a_receipt_can_be_checked_with_the_published_keys(api: Served) -> None:
    ask = await asked(api)
    path = f"/v1/asks/{ask['id']}/receipt"
    status, problem = await api.get(path)
    assert (status, problem["errors"][0]["code"]) == (409, "open")
    assert (await api.act(ask, action="answer", value="allow"))[0] == 200
    status, body = await api.get(path)
    assert status == 200
    assert set(body) == {"receipt", "link", "disclosed"}
    body = await linked(api, ask)
    assert body["link"]["n"] == 1
    verdict = check(body, await keys_of(api))  # type: ignore[arg-type]  # it is one
    assert verdict.faults == []
    assert (await api.get("/v1/asks/ask_none/receipt"))[0] == 404


@pytest.mark.rule("RCPT-1")
async def test_an_ask_of_before_has_no_receipt(serve: Serve) -> None:
    async with serve(receipts=ReceiptSettings(enabled=False)) as before:
        ask = await asked(before)
        await before.act(ask, action="answer", value="allow")
        status, problem = await before.get(f"/v1/asks/{ask['id']}/receipt")
        assert (status, problem["errors"][0]["code"]) == (404, "no_receipt")
        assert (await before.get("/.well-known/answerback-receipts.json")) == (200, {"keys": []})
    async with serve() as api:
        status, problem = await api.get(f"/v1/asks/{ask['id']}/receipt")
        assert (status, problem["errors"][0]["code"]) == (404, "no_receipt")
        assert (await post(api, f"/v1/asks/{ask['id']}/consume", {}))[0] == 200


@pytest.mark.rule("RCPT-1")
async def test_agents_read_only_their_own_receipts(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await asked(api, headers=api.bearer("bot"))
        await api.act(ask, action="answer", value="allow")
        path = f"/v1/asks/{ask['id']}"
        for name, status in (("bot", 200), ("other", 404), ("front", 200)):
            assert (await api.get(f"{path}/receipt", **api.bearer(name)))[0] == status
        assert (await api.get(f"{path}/receipt"))[0] == 401
        assert len(await keys_of(api)) == 1, "anybody may check"
        for name, status in (("other", 404), ("front", 403), ("bot", 200), ("bot", 409)):
            assert (await post(api, f"{path}/consume", {}, **api.bearer(name)))[0] == status


@pytest.mark.rule("RCPT-7")
async def test_one_approval_opens_one_door(api: Served) -> None:
    ask = await asked(api)
    path = f"/v1/asks/{ask['id']}/consume"
    status, problem = await post(api, path, {})
    assert (status, problem["errors"][0]["code"]) == (409, "not_approved")
    await api.act(ask, action="answer", value="allow")
    results = await asyncio.gather(*(post(api, path, {}) for _ in range(9)))
    assert sorted(status for status, _ in results) == [200, *[409] * 8]
    assert {body["errors"][0]["code"] for status, body in results if status == 409} == {"consumed"}
    [done] = [body for status, body in results if status == 200]
    assert (done["id"], done["status"]) == (ask["id"], "answered")


@pytest.mark.rule("RCPT-3")
async def test_an_erased_receipt_still_verifies(api: Served) -> None:
    ask = await asked(api)
    await api.act(ask, action="answer", value="allow")
    before = await linked(api, ask)
    assert (await post(api, f"/v1/asks/{ask['id']}/erase", {}, **api.person))[0] == 200
    assert await linked(api, ask) == {**before, "disclosed": {}}
    assert "touch a" not in str(await linked(api, ask))


@pytest.mark.rule("RCPT-4")
async def test_a_key_is_rotated_and_older_receipts_can_still_be_checked(
    serve: Serve, tmp_path: Path
) -> None:
    receipts = []
    file = ReceiptKeyFile(tmp_path / "asks.db")
    for number in (1, 2, 3):
        async with serve() as api:
            ask = await asked(api)
            await api.act(ask, action="answer", value="allow")
            receipts.append(await linked(api, ask))
            keys = await keys_of(api)
            assert len(keys) == number
            for receipt in receipts:
                assert check(receipt, keys).faults == []  # type: ignore[arg-type]  # it is one
        assert file.path.stat().st_mode & 0o777 == 0o600
        for _ in range(
            number
        ):  # a service that was not restarted in between never signed with the middle key
            await asyncio.to_thread(file.rotate)
    assert len({receipt["receipt"]["kid"] for receipt in receipts}) == 3
    assert [receipt["link"]["n"] for receipt in receipts] == [1, 2, 3]


@pytest.mark.rule("RCPT-4")
async def test_a_service_with_another_key_does_not_start(serve: Serve, tmp_path: Path) -> None:
    async with serve():
        pass
    file = ReceiptKeyFile(tmp_path / "asks.db")
    [own] = await asyncio.to_thread(file.read)
    other = SecretStr(new_private_key())
    for keys in ((other,), (other, SecretStr(new_private_key()))):
        with pytest.raises(
            ConfigError, match=r"signed with another key than that of `receipts\.key`"
        ):
            async with serve(receipts=ReceiptSettings(key=keys)):
                pass
    async with serve(receipts=ReceiptSettings(key=(other, SecretStr(own)))) as api:
        assert len(await keys_of(api)) == 2
    with pytest.raises(
        ConfigError, match=r"another key than that of the file .*asks\.db\.receipts"
    ):
        async with serve():
            pass
    file.path.unlink()
    with pytest.raises(ConfigError, match="another key"):
        async with serve():
            pass
    assert not file.path.exists()
    file.path.write_text("nonsense\n")
    with pytest.raises(ConfigError, match="holds no key that signs receipts"):
        async with serve():
            pass


@pytest.mark.rule("RCPT-4")
def test_a_wrong_key_in_the_settings_is_refused() -> None:
    key = new_private_key()
    settings = settings_type().model_validate({"receipts": {"key": f"{key},{key}"}})
    assert [SigningKey(each.get_secret_value()).kid for each in place_in(settings).table.key] == [
        SigningKey(key).kid
    ] * 2
    with pytest.raises(ValueError, match="it has 3 bytes instead of 32"):
        settings_type().model_validate({"receipts": {"key": ["AAAA"]}})


@pytest.mark.rule("RCPT-4")
async def test_the_keys_are_on_the_public_listener(serve: Serve) -> None:
    async with serve(public=PublicSettings(port=0)) as api:
        url = api.running.public_url
        async with api.http.get(f"{url}/.well-known/answerback-receipts.json") as response:
            assert (response.status, len((await response.json())["keys"])) == (200, 1)
        async with api.http.post(f"{url}/v1/asks", json=APPROVAL) as response:
            assert response.status == 404

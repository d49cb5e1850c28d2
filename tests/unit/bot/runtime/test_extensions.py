"""A service runs with all extensions, with each one, and with none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
import pytest
from aiohttp import web
from pydantic import BaseModel, JsonValue, ValidationError, create_model

from answerback.api import openapi
from answerback.api.routes import all_operations
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change
from answerback.core.errors import ConfigError, InvalidCallError
from answerback.ports.commands import Command
from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import NO_ROWS, NewRow, Rows, RowTable
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.operation import ApiCall, Operation, ResponseSpec, get, put
from answerback.ports.person_key import hash_of
from answerback.ports.plugin import Finding, SurfaceSettings
from answerback.ports.settings_tables import Table
from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import plugin_settings, settings_type
from answerback.runtime.plugins import installed_plugins
from answerback.service.submission_request import Agent, read_submission
from answerback_testing.chosen_extensions import only_extensions
from tests.extension_tables import tables_for
from tests.person_keys import bearer
from tests.service_support import actor
from tests.unit.bot.outbox_support import SECRET

_ALL = sorted(installed_extensions().usable)
_SETS = [_ALL, *([name] for name in _ALL), []]
_CALL: dict[str, JsonValue] = {
    "name": "ask_user",
    "arguments": {"question": "Apply the migration?", "answer_type": "boolean"},
    "responders": ["anyone"],
}


_AGENTS = {name: {"token_hash": hash_of(name)} for name in ("one", "two")}


class TallySettings(Table):
    """The table of the extension."""

    counts: bool = True
    runs: bool = True


class TallyBody(BaseModel):
    """The number of times that an ask is counted."""

    count: int


async def _count_ask(call: ApiCall) -> web.Response:
    ask = await call.ask()
    return web.json_response({"count": len(await call.store.rows.of_ask("tally", ask.id))})


async def _count_all(call: ApiCall) -> web.Response:
    tally = call.running(RunningTally)
    return web.json_response(None if tally is None else len(await call.store.rows.list("tally")))


async def _count_bytes(call: ApiCall) -> web.Response:
    return web.json_response(sum([len(part) async for part in call.read_parts()]))


class Tally(Extension):
    """Counts outcomes: an extension that uses everything that the door offers."""

    name = "tally"
    table = "tally"
    settings = TallySettings
    tables = (RowTable("tally", exported=True), RowTable("tally.late", days=1.0))

    def check(self, configured: Configured) -> None:
        if not configured.table.counts and configured.agent_secrets is not None:
            raise ConfigError("tally.counts: agents with tokens are always counted")

    def operations(self) -> Sequence[Operation[ApiCall]]:
        return (
            get(
                "tallyOfAsk",
                "/v1/asks/{id}/tally",
                "Count an ask",
                _count_ask,
                {200: ResponseSpec("How often it is counted.", TallyBody)},
                after="record",
            ),
            put("tallyBytes", "/tally", "Count bytes", _count_bytes, {}, body_media="image/png"),
            get("tallyAll", "/tally.json", "Count all", _count_all, {}, roles=None, public=True),
        )

    async def open(self, parts: ServiceParts) -> Running | None:
        return RunningTally(parts) if parts.configured.table.runs else None

    async def findings(self, configured: Configured) -> AsyncIterator[Finding]:
        yield Finding("tally", None if configured.table.counts else "nothing is counted")


class RunningTally(Running):
    """It counts."""

    def __init__(self, parts: ServiceParts) -> None:
        self.parts, self.table, self.looped = parts, parts.configured.table, False

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        if not self.table.counts or change.ask.outcome is None:
            return NO_ROWS
        return Rows(rows=(NewRow("tally", {"status": change.ask.status.value, "at": at}),))

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/tally", self._count)]

    async def _count(self, _request: web.Request) -> web.Response:
        return web.json_response(len(await self.parts.store.rows.list("tally")))

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"tally": self._loop}

    async def _loop(self) -> None:
        self.looped = True

    def commands(self) -> list[Command]:
        return [Command("tally", "Counts.")]

    def for_page(self, surface: str) -> object | None:
        return self if surface == "web" else None

    def reload(self, configured: Configured) -> Callable[[], None]:
        Tally().check(configured)

        def apply() -> None:
            self.table = configured.table

        return apply


async def _answered(up: RunningService, **envelope: JsonValue) -> Ask:
    ask = (await up.service.submit(read_submission({**_CALL, **envelope}))).ask
    await up.service.act(ask.id, Answer(value=True), actor("ann", "web"))
    ended = await up.service.get(ask.id)
    assert ended is not None
    return ended


def _tables(folder: Path, **more: object) -> dict[str, Any]:
    storage = {"url": f"sqlite:///{folder / 'asks.db'}"}
    return {"server": {"port": 0}, "storage": storage, "callbacks": {"secret": [SECRET]}, **more}


@pytest.mark.rule("PLUGIN-10")
@pytest.mark.parametrize("names", _SETS, ids=lambda names: "+".join(names) or "none")
async def test_an_ask_is_answered_erased_and_exported_with_any_set_of_extensions(
    tmp_path: Path, names: list[str]
) -> None:
    with only_extensions(names):
        tables = _tables(tmp_path, **tables_for(names))
        del tables["callbacks"]
        async with (
            run_service(settings_type().model_validate(tables)) as up,
            aiohttp.ClientSession(up.api_url, headers=bearer(tmp_path)) as http,
        ):
            assert sorted(up.extensions.running) == sorted(names)
            ended = await _answered(up)
            assert not ended.open
            async with http.get("/v1/export") as response:
                lines = [json.loads(line) for line in (await response.text()).splitlines()]
            assert lines[-1]["type"] == "end"
            async with http.post(f"/v1/asks/{ended.id}/erase") as response:
                assert response.status == 200, await response.text()


@pytest.mark.rule("PLUGIN-10")
async def test_a_callback_is_refused_where_nothing_sends_webhooks(tmp_path: Path) -> None:
    callback: JsonValue = {"url": "http://127.0.0.1:9/outcome"}
    for names in ([], ["webhooks"]):
        with only_extensions(names):
            tables = _tables(tmp_path)
            if not names:
                del tables["callbacks"]
            async with run_service(settings_type().model_validate(tables)) as up:
                if names:
                    await _answered(up, callback=callback)
                    [row] = (
                        await up.service.store.outbox.page(
                            state=None, agent=None, after=None, limit=9
                        )
                    ).rows
                    assert row.delivery.type == "ask.answered"
                    continue
                with pytest.raises(InvalidCallError) as refused:
                    await up.service.submit(read_submission({**_CALL, "callback": callback}))
                assert "No installed extension sends webhooks" in str(refused.value.problems)


@pytest.mark.rule("PLUGIN-8", "PLUGIN-9")
async def test_what_an_extension_brings_is_part_of_the_service(tmp_path: Path) -> None:
    with only_extensions([], Tally()):
        tables = _tables(tmp_path)
        del tables["callbacks"]
        settings = settings_type().model_validate(tables)
        async with (
            run_service(settings) as up,
            aiohttp.ClientSession(up.api_url, headers=bearer(tmp_path)) as http,
        ):
            tally = up.extensions.running["tally"]
            assert isinstance(tally, RunningTally)
            ended = await _answered(up)
            async with http.get("/tally") as response:
                assert await response.json() == 1
            assert tally.looped
            assert [command.name for command in up.service.commands.offered] == ["tally"]
            assert up.extensions.for_page("web") == {"tally": tally}
            assert up.extensions.for_page("slack") == {}
            async with http.get("/v1/export") as response:
                lines = [json.loads(line) for line in (await response.text()).splitlines()]
            rows = [line for line in lines if line["type"] == "row"]
            value = {"status": "answered", "at": rows[0]["value"]["at"]}
            assert rows == [{"type": "row", "table": "tally", "ask_id": ended.id, "value": value}]
            assert lines[-1]["lines"]["row"] == 1
            off = settings_type().model_validate({**tables, "tally": {"counts": False}})
            assert up.reloader.update_from(off) == []
            await _answered(up)
            assert len(await up.service.store.rows.list("tally")) == 1


class Loudness(SurfaceSettings):
    """Keys of a surface's table."""

    loudness: int = 1


class Loud(Tally):
    """Adds a key to the page's table."""

    surface_keys: ClassVar = {"web": Loudness}

    async def open(self, parts: ServiceParts) -> Running | None:
        table = parts.configured.surface_table("web")
        assert isinstance(table, Loudness)
        assert parts.configured.surface_table("unknown") is None
        return RunningTally(parts) if table.loudness > 1 else None


@pytest.mark.rule("PLUGIN-2", "PLUGIN-8")
async def test_an_extension_adds_keys_to_the_table_of_a_surface(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    del tables["callbacks"]
    for loudness, runs in ((1, []), (2, ["tally"])):
        loud = {**tables, "web": {"loudness": loudness, "link_days": 3}}
        with only_extensions([], Loud()):
            settings = settings_type().model_validate(loud)
            async with run_service(settings) as up:
                assert [*up.extensions.running] == runs
                assert plugin_settings(settings, installed_plugins().usable["web"]).link_days == 3
        with only_extensions([]), pytest.raises(ValidationError, match=r"web\.loudness"):
            settings_type().model_validate(loud)


@pytest.mark.rule("PLUGIN-8")
def test_a_key_that_a_surface_has_already_is_refused() -> None:
    class Clash(Loud):
        surface_keys: ClassVar = {
            "web": create_model("Keys", __base__=SurfaceSettings, link_days=(int, 1))
        }

    with (
        only_extensions([], Clash()),
        pytest.raises(ConfigError, match=r"'tally' adds the key 'link_days' to \[web\]"),
    ):
        settings_type()


@pytest.mark.rule("PLUGIN-8", "API-2")
async def test_an_operation_of_an_extension_is_served_described_and_checked_like_any_other(
    tmp_path: Path,
) -> None:
    with only_extensions([], Tally()):
        tables = _tables(tmp_path, agents=_AGENTS, public={"port": 0})
        del tables["callbacks"]
        async with (
            run_service(settings_type().model_validate(tables)) as up,
            aiohttp.ClientSession(headers={"Authorization": "Bearer one"}) as http,
        ):
            body = read_submission(_CALL)
            ask = (await up.service.submit(body, agent=Agent("one"))).ask
            await up.service.act(ask.id, Answer(value=True), actor("ann", "web"))
            path = f"{up.api_url}/v1/asks/{ask.id}/tally"
            async with http.get(path) as response:
                assert await response.json() == {"count": 1}
            others = {"Authorization": "Bearer two"}, {"Authorization": "Bearer no agent's"}
            for headers, status in zip(others, (404, 401), strict=True):
                async with http.get(path, headers=headers) as response:
                    assert response.status == status
            async with http.get(f"{path}?wrong=1") as response:
                assert response.status == 400
            for listener in (up.api_url, up.public_url):
                async with http.get(f"{listener}/tally.json", headers={}) as response:
                    assert await response.json() == 1
            async with http.put(f"{up.api_url}/tally", data=b"\0" * 200_000) as response:
                assert await response.json() == 200_000
            async with http.get(f"{up.public_url}/v1/asks/{ask.id}/tally") as response:
                assert response.status == 404
            async with http.get(f"{up.api_url}/openapi.json") as response:
                document = await response.json()
    ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert ids[ids.index("record") + 1] == "tallyOfAsk"
    assert ids[-1] == "tallyAll"
    assert "receipt" not in ids, "that extension is not installed"
    assert [*document["paths"]["/tally"]["put"]["requestBody"]["content"]] == ["image/png"]
    assert "TallyBody" in document["components"]["schemas"]


@pytest.mark.rule("PLUGIN-8")
async def test_an_operation_is_there_where_the_configuration_does_not_use_its_extension(
    tmp_path: Path,
) -> None:
    with only_extensions([], Tally()):
        tables = _tables(tmp_path, tally={"runs": False})
        del tables["callbacks"]
        async with (
            run_service(settings_type().model_validate(tables)) as up,
            aiohttp.ClientSession(up.api_url) as http,
            http.get("/tally.json") as response,
        ):
            assert await response.json() is None


@pytest.mark.rule("PLUGIN-8")
@pytest.mark.parametrize("part", ["query", "body"])
def test_an_operation_that_would_ignore_a_misspelled_name_is_no_operation(part: str) -> None:
    given: dict[str, Any] = {part: TallyBody}
    with pytest.raises(ValueError, match="TallyBody needs extra='forbid'"):
        get("tally", "/tally", "Count", _count_all, {}, **given)


@pytest.mark.rule("PLUGIN-8")
@pytest.mark.parametrize(("taken", "path"), [("get", "/tally"), ("new", "/v1/asks/{ask}")])
def test_an_operation_that_there_is_already_is_refused(taken: str, path: str) -> None:
    class Clash(Tally):
        name = "clash"

        def operations(self) -> Sequence[Operation[ApiCall]]:
            return (get(taken, path, "Count", _count_all, {}),)

    with (
        only_extensions([], Clash()),
        pytest.raises(ConfigError, match=rf"'clash' has the operation {taken} .* there is get "),
    ):
        all_operations()


def test_operations_of_extensions_have_their_places_and_names_in_the_description() -> None:
    document: Any = openapi.document(all_operations(), "1", tokens=True)
    ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    first = ids.index("record")
    expected = ["record", "receipt", "consume", "receiptKeys", "deliveries"]
    assert ids[first : first + 5] == expected
    body = document["components"]["schemas"]["ReceiptBody"]["properties"]["link"]
    assert "answerback__service__receipts__LinkBody" in json.dumps(body)

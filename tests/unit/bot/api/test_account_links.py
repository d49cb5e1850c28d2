"""Linking accounts by the API and by `answerback person`: for a page's own key and the operator's, for nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from answerback.core.person import Person
from answerback_agents.cli import main
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.unit.bot.api.conftest import Json, Serve, Served, until
from tests.unit.bot.api.test_personal_keys import create_link

ANN = Person(surface="slack", user_id="U012", name="ann.a")


async def call(api: Served, method: str, path: str, who: dict[str, str] | None) -> tuple[int, Json]:
    async with api.http.request(method, f"/v1/links{path}", headers=who) as response:
        return response.status, await response.json(content_type=None)


async def type_code(api: Served, code: str, by: Person = ANN) -> None:
    """Type the code and confirm it in a chat."""
    commands = api.running.service.commands
    shown = await commands.run(by, f"link {code}")
    await commands.run(by, shown.buttons[0].command, pressed=True)


@pytest.mark.rule("LINK-9")
async def test_a_person_links_and_unlinks_an_account_with_their_own_key(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(people_link=True) as api:
        ann, eve = await create_link(tmp_path, "ann"), await create_link(tmp_path, "eve")
        status, started = await call(api, "POST", "", ann)
        assert (status, started["typed_by"]) == (201, None)
        await type_code(api, started["code"])
        assert (await call(api, "POST", "/slack:U012", eve))[0] == 409
        assert (await call(api, "GET", "", ann))[1] == {"links": [], "started": {
            **started, "typed_by": {"surface": "slack", "user_id": "U012", "name": "ann.a"}
        }}  # fmt: skip
        status, linked = await call(api, "POST", "/slack:U012", ann)
        [link] = linked["links"]
        assert (status, linked["started"]) == (200, None)
        assert (link["account"], link["name"], link["page"]) == ("slack:U012", "ann.a", "web:ann")
        assert (await call(api, "GET", "", eve))[1] == {"links": [], "started": None}
        assert (await call(api, "GET", "?person=ann", eve))[0] == 403
        assert (await call(api, "DELETE", "/slack:U012", eve))[0] == 404
        assert (await call(api, "DELETE", "/slack:U012", ann)) == (
            200,
            {"links": [], "started": None},
        )


@pytest.mark.rule("LINK-9")
async def test_the_operator_says_whose_page_and_sees_all(serve: Serve, tmp_path: Path) -> None:
    async with serve(people_link=True) as api:
        await create_link(tmp_path, "ann")
        assert (await call(api, "POST", "", api.person))[0] == 422
        for nobody in ("bob", "operator"):
            assert (await call(api, "POST", f"?person={nobody}", api.person))[0] == 404
        _, started = await call(api, "POST", "?person=ann", api.person)
        await type_code(api, started["code"])
        assert (await call(api, "POST", "/slack:U012", api.person))[0] == 409
        assert (await call(api, "DELETE", "/slack:U012?person=ann", api.person))[0] == 200
        assert (await call(api, "POST", "/slack:U012?person=ann", api.person))[0] == 409, "refused"
        _, started = await call(api, "POST", "?person=ann", api.person)
        await type_code(api, started["code"])
        assert (await call(api, "POST", "/slack:U012?person=ann", api.person))[0] == 200
        assert len((await call(api, "GET", "", api.person))[1]["links"]) == 1
        assert (await call(api, "DELETE", "/slack:U012", api.person))[1]["links"] == []


@pytest.mark.rule("LINK-1", "LINK-9")
async def test_no_token_links_anything_and_it_is_off_by_default(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve({"front": "surface", "ci": "agent"}, people_link=True) as api:
        for name in ("front", "ci"):
            assert (await call(api, "POST", "?person=ann", api.bearer(name)))[0] == 403
    async with serve() as api:
        assert (await call(api, "GET", "", api.person))[0] == 404
        assert api.running.service.commands.offered == []


@pytest.mark.rule("LINK-8")
async def test_links_hold_over_a_restart_and_end_with_the_personal_link(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(people_link=True) as api:
        ann = await create_link(tmp_path, "ann")
        await type_code(api, (await call(api, "POST", "", ann))[1]["code"])
        assert (await call(api, "POST", "/slack:U012", ann))[0] == 200
    async with serve(people_link=True) as api:
        people = api.running.service.people
        assert people.name_of(ANN) == "web:ann"
        await asyncio.to_thread(PersonalLinksFile(tmp_path / "asks.db").revoke, "ann")

        async def is_gone() -> bool:
            return people.name_of(ANN) is None

        await until(is_gone)


@pytest.mark.rule("LINK-9", "CLI-4")
@pytest.mark.parametrize("agreed", [True, False])
async def test_the_command_shows_a_code_and_asks_to_confirm(
    serve: Serve, tmp_path: Path, agreed: bool
) -> None:
    async with serve(people_link=True) as api:
        await create_link(tmp_path, "ann")
        key = api.person["Authorization"].removeprefix("Bearer ")
        at = ("--url", api.running.api_url, "--token", key)

        def run(*arguments: str, text: str = "") -> tuple[int, str]:
            done = CliRunner().invoke(main.app, ["person", *arguments, *at], input=text)
            return done.exit_code, done.output

        linking = asyncio.create_task(
            asyncio.to_thread(run, "link", "ann", text="y\n" if agreed else "\n")
        )
        codes: list[str] = []

        async def is_started() -> bool:
            _, found = await call(api, "GET", "?person=ann", api.person)
            codes[:] = [found["started"]["code"]] if found["started"] else []
            return bool(codes)

        await until(is_started)
        await type_code(api, codes[0])
        code, output = await linking
        assert f"/answerback link {codes[0]}" in output
        assert "ann.a (slack:U012) has typed your code. Whoever uses that account" in output
        assert code == (0 if agreed else 1)
        shown = await asyncio.to_thread(run, "links")
        assert ("slack:U012  ann.a  to  web:ann" in shown[1]) is agreed
        as_json = await asyncio.to_thread(run, "links", "--json")
        assert ("U012" in as_json[1]) is agreed
        assert (await asyncio.to_thread(run, "unlink", "slack:U012"))[0] == (0 if agreed else 1)
        assert "No account is linked" in (await asyncio.to_thread(run, "links"))[1]
        assert (await asyncio.to_thread(run, "link", "ann", "--wait", "0"))[0] == 1

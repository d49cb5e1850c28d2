"""A surface written by somebody else is installed, and everything supports it without any change of ours."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.acceptance import process, third_party
from tests.meta.project import ROOT
from tests.postgres import Server

EXAMPLE = ROOT / "docs" / "examples" / "linechat"
FORM = {"questions": [{"id": "go", "text": "Go <on>?", "answer_type": "boolean"}]}

pytestmark = [pytest.mark.acceptance, pytest.mark.long]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path on which Python finds the example and our packages."""
    return third_party.install(EXAMPLE, tmp_path_factory.mktemp("third-party"))


async def run(path: str, folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run a command where the example is installed; return its exit status and output."""
    environment = {"PYTHONPATH": path, **variables}
    code, out, err = await process.run(*arguments, folder=folder, environment=environment)
    return code, out + err


_PLUGIN = ("-p", "pytest_asyncio.plugin")


@pytest.mark.rule("PLUGIN-2")
def test_it_meets_the_contract_of_every_surface(path: str, tmp_path: Path) -> None:
    out = third_party.run_tests(EXAMPLE, tmp_path, path, *_PLUGIN, "-k", "not Postgres")
    assert re.search(r"^\d+ passed, \d+ deselected in", out, re.MULTILINE), out


@pytest.mark.rule("DATA-20", "PLUGIN-2")
def test_it_meets_the_contract_of_every_surface_on_postgresql(
    path: str, tmp_path: Path, postgres_server: Server
) -> None:
    with postgres_server.borrow_database() as database:
        options = (*_PLUGIN, "-k", "Postgres")
        address = postgres_server.url(database)
        out = third_party.run_tests(EXAMPLE, tmp_path, path, *options, LINECHAT_POSTGRES=address)
    assert re.search(r"^\d+ passed, \d+ deselected in", out, re.MULTILINE), out


async def test_its_table_is_part_of_the_configuration(path: str, tmp_path: Path) -> None:
    config = tmp_path / "answerback.toml"
    config.write_text('default_route = "linechat:ops"\n[linechat]\nport = 0\n')
    code, output = await run(path, tmp_path, "serve", "--check")
    assert code == 0, output
    assert "surfaces: web, linechat\n" in output
    assert "default linechat:ops" in output
    config.write_text("[linechat]\nprot = 0\n")
    code, output = await run(path, tmp_path, "serve", "--check")
    assert code == 1
    assert "there is no key linechat.prot (did you mean linechat.port?)" in output
    config.unlink()
    assert "surfaces: web\n" in (await run(path, tmp_path, "serve", "--check"))[1]
    assert (
        "web, linechat\n" in (await run(path, tmp_path, "serve", "--check", LINECHAT_PORT="0"))[1]
    )


async def test_the_doctor_checks_it(path: str, tmp_path: Path) -> None:
    code, output = await run(path, tmp_path, "doctor", LINECHAT_PORT="0")
    assert code == 0, output
    assert "✓ Line chat: port 0" in output
    assert "Line chat" not in (await run(path, tmp_path, "doctor"))[1]


async def test_it_is_previewed(path: str, tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text(json.dumps(FORM))
    code, output = await run(path, tmp_path, "preview", str(form), "--surface", "linechat")
    assert code == 0, output
    [sent] = json.loads(output)
    assert "Go <on>?" in sent["text"]
    assert sent["offers"] == ["reply", "end_turn"]
    page = tmp_path / "page.html"
    code, output = await run(path, tmp_path, "preview", str(form), "--html", str(page))
    assert code == 0, output
    shown = page.read_text("utf-8")
    assert "<figcaption>Line chat" in shown
    assert "Go &lt;on&gt;?" in shown

"""A surface written by somebody else is installed, and everything supports it without any change of ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance import process
from tests.meta.project import PYTHONPATH, ROOT
from tests.postgres import Server

EXAMPLE = ROOT / "docs" / "examples" / "linechat"
FORM = {"questions": [{"id": "go", "text": "Go <on>?", "answer_type": "boolean"}]}

pytestmark = [pytest.mark.acceptance, pytest.mark.long]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with the example in it."""
    folder = tmp_path_factory.mktemp("third-party")
    source = shutil.copytree(EXAMPLE, folder / "source")
    install = ["install", "-qq", "--no-index", "--no-deps", "--no-build-isolation"]
    target = folder / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", *install, "--target", str(target), str(source)],
        check=True,
        timeout=250,
    )
    return target


async def run(site: Path, folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Run a command where the example is installed; return its exit status and output."""
    environment = {"PYTHONPATH": _path(site), **variables}
    code, out, err = await process.run(*arguments, folder=folder, environment=environment)
    return code, out + err


def _path(site: Path) -> str:
    return os.pathsep.join((str(site), PYTHONPATH))


@pytest.mark.rule("DATA-20", "PLUGIN-2")
def test_it_meets_the_contract_of_every_surface_on_postgresql_too(
    site: Path, tmp_path: Path, postgres_server: Server
) -> None:
    tests = shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    shutil.copy(EXAMPLE / "pyproject.toml", tmp_path)
    with postgres_server.borrow_database() as database:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "pytest_asyncio.plugin", str(tests)],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": _path(site),
                # Its author has no other pytest plug-ins; those of our environment take seconds to load.
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "LINECHAT_POSTGRES": postgres_server.url(database),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
            timeout=280,
        )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE), done.stdout


async def test_its_table_is_part_of_the_configuration(site: Path, tmp_path: Path) -> None:
    config = tmp_path / "answerback.toml"
    config.write_text('default_route = "linechat:ops"\n[linechat]\nport = 0\n')
    code, output = await run(site, tmp_path, "serve", "--check")
    assert code == 0, output
    assert "surfaces: web, linechat\n" in output
    assert "default linechat:ops" in output
    config.write_text("[linechat]\nprot = 0\n")
    code, output = await run(site, tmp_path, "serve", "--check")
    assert code == 1
    assert "there is no key linechat.prot; did you mean linechat.port?" in output
    config.unlink()
    assert "surfaces: web\n" in (await run(site, tmp_path, "serve", "--check"))[1]
    assert (
        "web, linechat\n" in (await run(site, tmp_path, "serve", "--check", LINECHAT_PORT="0"))[1]
    )


async def test_the_doctor_checks_it(site: Path, tmp_path: Path) -> None:
    code, output = await run(site, tmp_path, "doctor", LINECHAT_PORT="0")
    assert code == 0, output
    assert "✓ Line chat: port 0" in output
    assert "Line chat" not in (await run(site, tmp_path, "doctor"))[1]


async def test_it_is_previewed(site: Path, tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text(json.dumps(FORM))
    code, output = await run(site, tmp_path, "preview", str(form), "--surface", "linechat")
    assert code == 0, output
    [sent] = json.loads(output)
    assert "Go <on>?" in sent["text"]
    assert sent["offers"] == ["reply", "end_turn"]
    page = tmp_path / "page.html"
    code, output = await run(site, tmp_path, "preview", str(form), "--html", str(page))
    assert code == 0, output
    shown = page.read_text("utf-8")
    assert "<figcaption>Line chat" in shown
    assert "Go &lt;on&gt;?" in shown

"""A surface that somebody else wrote is installed, and everything knows it without a change of ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

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


def run(site: Path, folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """A program's status and all that it prints, where the example is installed."""
    return _run(site, folder, ["-m", "answerback.cli.main", *arguments], variables)


def _run(
    site: Path, folder: Path, arguments: Sequence[str], variables: dict[str, str]
) -> tuple[int, str]:
    path = os.pathsep.join((str(site), PYTHONPATH))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=280,
    )
    return done.returncode, done.stdout


def _contract(site: Path, folder: Path, *wanted: str, **variables: str) -> str:
    """What pytest says of the example's own tests."""
    tests = shutil.copytree(EXAMPLE / "tests", folder / "tests")
    shutil.copy(EXAMPLE / "pyproject.toml", folder)
    # Its author has no other plug-in of pytest; those of our environment take seconds to load.
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = ["-m", "pytest", "-q", "-p", "pytest_asyncio.plugin", str(tests), *wanted]
    code, told = _run(site, folder, words, {**alone, **variables})
    assert code == 0, told
    return told


def test_it_keeps_the_contract_of_every_surface(site: Path, tmp_path: Path) -> None:
    told = _contract(site, tmp_path, "-k", "not OnPostgres")
    assert re.search(r"^\d+ passed, \d+ deselected in", told, re.MULTILINE), told


@pytest.mark.rule("DATA-20", "PLUGIN-2")
def test_it_keeps_the_contract_on_postgresql_too_with_one_replica_and_with_two(
    site: Path, tmp_path: Path, postgres_server: Server
) -> None:
    with postgres_server.lent() as database:
        url = postgres_server.url(database)
        told = _contract(site, tmp_path, "-k", "OnPostgres", LINECHAT_POSTGRES=url)
    assert re.search(r"^\d+ passed, \d+ deselected in", told, re.MULTILINE), told


def test_its_table_is_part_of_the_configuration(site: Path, tmp_path: Path) -> None:
    config = tmp_path / "answerback.toml"
    config.write_text('default_route = "linechat:ops"\n[linechat]\nport = 0\n')
    code, told = run(site, tmp_path, "serve", "--check")
    assert code == 0, told
    assert "surfaces: web, linechat\n" in told
    assert "default linechat:ops" in told
    config.write_text("[linechat]\nprot = 0\n")
    code, told = run(site, tmp_path, "serve", "--check")
    assert code == 1
    assert "there is no key linechat.prot; did you mean linechat.port?" in told
    config.unlink()
    assert "surfaces: web\n" in run(site, tmp_path, "serve", "--check")[1]
    assert "web, linechat\n" in run(site, tmp_path, "serve", "--check", LINECHAT_PORT="0")[1]


def test_the_doctor_looks_at_it(site: Path, tmp_path: Path) -> None:
    code, told = run(site, tmp_path, "doctor", LINECHAT_PORT="0")
    assert code == 0, told
    assert "✓ Line chat: port 0" in told
    assert "Line chat" not in run(site, tmp_path, "doctor")[1]


def test_it_is_previewed(site: Path, tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text(json.dumps(FORM))
    code, told = run(site, tmp_path, "preview", str(form), "--surface", "linechat")
    assert code == 0, told
    [sent] = json.loads(told)
    assert "Go <on>?" in sent["text"]
    assert sent["offers"] == ["reply", "end_turn"]
    page = tmp_path / "page.html"
    assert run(site, tmp_path, "preview", str(form), "--html", str(page))[0] == 0
    shown = page.read_text("utf-8")
    assert "<figcaption>Line chat" in shown
    assert "Go &lt;on&gt;?" in shown

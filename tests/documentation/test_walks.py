"""Somebody who has only a page pastes its blocks, from the first to an answer: on the web, and in each chat.

The chats are the tests' own. What a newcomer has to fill in is filled in: the repository's address, tokens and ids. The
service runs on a free port, and Answerback is installed already.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from answerback.runtime.plugins import installed_plugins
from answerback_client import AsyncClient
from tests.acceptance.process import serving
from tests.documentation.blocks import blocks
from tests.meta.project import PYTHONPATH, ROOT
from tests.ports import free_port
from tests.recipes.conftest import Person

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

CHATS: Final = [
    plugin.name
    for plugin in installed_plugins()
    if (ROOT / "tests" / "unit" / "adapters" / plugin.name / "page_walk.py").is_file()
]
"""The surfaces whose pages lead to an answer in a chat."""
_PAGES_ADDRESS: Final = "http://127.0.0.1:8420"
_PATIENCE: Final = 120.0
_ALREADY_DONE: Final = "pip() { :; }; git() { mkdir answerback; }; make() { :; }\n"
"""Stands for what a newcomer does once, and what this machine has."""
_START: Final = """answerback serve > serve.log 2>&1 &
until grep -q listening serve.log; do kill -0 $!; sleep 0.1; done
"""


def _script(page: str, until: str, url: str, filled_in: Mapping[str, str]) -> str:
    """Return the blocks of a page up to a heading, as they are pasted into one terminal."""
    text = (ROOT / page).read_text("utf-8")
    end = text[: text.index(f"\n## {until}")].count("\n")
    pasted = "set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null' EXIT\n" + _ALREADY_DONE
    for block in blocks(page):
        if block.line > end or block.language not in {"sh", "toml"}:
            continue
        lines = block.text.replace(_PAGES_ADDRESS, url).replace(".venv/bin/", "")
        for placeholder, value in filled_in.items():
            lines = lines.replace(placeholder, value)
        if block.language == "toml":
            lines = f"cat > answerback.toml <<'TOML'\n{lines}TOML\n"
        pasted += re.sub(r"^answerback serve\n", _START, lines, flags=re.MULTILINE)
    return pasted


@asynccontextmanager
async def _pasting(
    folder: Path, page: str, until: str, filled_in: Mapping[str, str], **variables: str
) -> AsyncIterator[tuple[str, Callable[[], Coroutine[Any, Any, str]]]]:
    """Run a page's blocks; yield the service's address, and a function that waits for what they print."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    own = {
        "ANSWERBACK_SERVER__PORT": str(port),
        "ANSWERBACK_URL": url,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": PYTHONPATH,
    }
    child = await asyncio.create_subprocess_exec(
        *("bash", "-c", _script(page, until, url, filled_in)),
        cwd=folder,
        env={**os.environ, **own, **variables},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )

    async def printed() -> str:
        async with asyncio.timeout(_PATIENCE):
            out, err = await child.communicate()
        assert child.returncode == 0, out.decode() + err.decode()
        return out.decode()

    try:
        yield url, printed
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, 9)
        await child.wait()


def _results(printed: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON documents among what was printed."""
    decoder, at = json.JSONDecoder(), 0
    while (at := printed.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(printed, at)
        except ValueError:
            at += 1
        else:
            yield found


async def test_the_tutorial_leads_to_three_answers_on_the_web(tmp_path: Path) -> None:
    async with _pasting(tmp_path, "docs/tutorial.md", "5. Next steps", {}) as (url, printed):
        async with AsyncClient(url, patience=_PATIENCE) as anybody:
            await anybody.call("GET", "/healthz")
        key = (tmp_path / "answerback" / "answerback.db.key").read_text().strip()
        async with AsyncClient(url, key) as front:
            person = Person(front, _PATIENCE)
            await person.answers(True, "production", "go")
            await person.answers("8443")
            await person.answers(True)
        form, ask, about_plot = [
            each for each in _results(await printed()) if "structured" in str(each)
        ]
    assert form["structured"] == {"apply": True, "env": "production", "note": "go"}
    assert ask["tool_result"]["structured"]["answer"] == "8443"
    assert about_plot["tool_result"]["structured"] == {"back": True}
    [sent] = about_plot["files"]
    assert (sent["name"], sent["media_type"]) == ("plot.png", "image/png")


@pytest.mark.parametrize("chat", CHATS)
async def test_the_page_about_a_chat_leads_to_an_answer_there(tmp_path: Path, chat: str) -> None:
    walk = import_module(f"tests.unit.adapters.{chat}.page_walk")
    async with walk.meet_newcomer() as newcomer:
        page = (f"docs/{chat}.md", newcomer.until, newcomer.filled_in)
        async with _pasting(tmp_path, *page, **newcomer.variables) as (_, printed):
            await newcomer.answer(_PATIENCE)
            [result] = [each for each in _results(await printed()) if "structured" in each]
        log = (tmp_path / "serve.log").read_text()
        assert "warning" not in log or newcomer.library_warns
    assert result["structured"] == {"apply": True}


async def test_the_first_screen_leads_to_an_answer_in_python(tmp_path: Path) -> None:
    [example] = [block.text for block in blocks("README.md") if block.language == "python"]
    async with serving(tmp_path) as (_, url):
        (tmp_path / "example.py").write_text(example.replace(_PAGES_ADDRESS, url))
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "example.py"),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            stdout=asyncio.subprocess.PIPE,
        )
        async with AsyncClient(url, (tmp_path / "answerback.db.key").read_text().strip()) as front:
            await Person(front, _PATIENCE).answers("tonight", "")
        out, _ = await child.communicate()
    assert out.decode().splitlines()[-1] == "{'when': 'tonight', 'note': ''}"

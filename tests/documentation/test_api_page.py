"""The examples of docs/api.md, pasted one after the other: in a shell, in Python and in TypeScript."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.process import serving
from tests.documentation.blocks import blocks
from tests.meta.project import PYTHONPATH
from tests.recipes.test_typescript import OPTIONS

pytestmark = pytest.mark.acceptance

_PAGE: Final = "docs/api.md"
_PAGES_ADDRESS: Final = "http://127.0.0.1:8420"
_STRICT_CURL: Final = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n'
_SECRET: Final = {
    "ANSWERBACK_CALLBACKS__SECRET": "whsec_" + "A" * 32,
    "ANSWERBACK_PEOPLE_LINK": "true",
    "ANSWERBACK_AWAY__ENABLED": "true",
}
_PATIENCE: Final = 120.0


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[str]:
    async with serving(tmp_path, _SECRET) as (_, url):
        yield url


def _examples(language: str, url: str) -> list[str]:
    """Return the page's examples, for the address of the running service. A wait in vain is shortened."""
    found = [block.text for block in blocks(_PAGE) if block.language == language]
    return [text.replace(_PAGES_ADDRESS, url).replace("wait=60", "wait=1") for text in found]


def _run(*command: str | Path, folder: Path) -> str:
    own = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": PYTHONPATH}
    environment: Mapping[str, str] = {**os.environ, **own}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_examples_in_a_shell_succeed(service: str, tmp_path: Path) -> None:
    *examples, wrong = _examples("sh", service)
    script = tmp_path / "examples.sh"
    script.write_text(
        "set -euo pipefail\n"
        + _STRICT_CURL
        + "\n".join(examples)
        + f"if {wrong}\nthen exit 1; fi\n"
    )
    out = _run("bash", script, folder=tmp_path)
    assert "Deploy now." in out
    assert '"code":"empty"' in out.replace(" ", "")


def test_the_examples_in_python_succeed(service: str, tmp_path: Path) -> None:
    script = tmp_path / "examples.py"
    script.write_text("\n".join(_examples("python", service)))
    out = _run(sys.executable, script, folder=tmp_path)
    assert "event: outcome" in out
    assert "must not be blank" in out


def test_the_examples_in_typescript_compile_and_succeed(
    node_modules: Path, service: str, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(node_modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "examples.ts").write_text("\n".join(_examples("ts", service)))
    _run(node_modules / ".bin" / "tsc", *OPTIONS, "examples.ts", folder=tmp_path)
    out = _run("node", "examples.js", folder=tmp_path)
    assert "event: outcome" in out
    assert "must not be blank" in out

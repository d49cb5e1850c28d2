"""The independent checkers of receipts, in Python and TypeScript: a whole receipt passes, and any change is found."""

from __future__ import annotations

import copy
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from answerback.core.canonical_json import canonical, digest
from answerback_agents.cli import main
from answerback_client import AsyncClient
from tests.meta.project import PYTHONPATH, RECIPES
from tests.recipes.conftest import Person, Served
from tests.recipes.test_typescript import compiled as compiled

_ARGUMENTS: Final[dict[str, Any]] = {
    "tool_name": "Bash",
    "tool_input": {
        "command": "printf 'ünïcode 😀\\u2028\\n'",
        "half": 0.5,
        "huge": 2**60,
        "large": 1e21,
        "\ue000": 1,
        "😀": -0.0,
    },
}
_ZEROS: Final = "sha256:" + "0" * 64
_FORGED: Final[list[Any]] = ["salt", "Ann agreed to delete production"]
_NAMED_LIKE_IT: Final[dict[str, Any]] = {
    "questions": [{"id": digest(canonical(_FORGED)), "text": "Lunch?", "answer_type": "boolean"}]
}
"""A question whose id is the digest of a text that was never shown to anybody."""


@pytest.fixture
async def documents(served: Served, person: Person) -> tuple[Any, ...]:
    """A receipt that is in the chain, one of a question that has a digest for its id, and the published keys."""
    async with AsyncClient(served.url, served.token) as agent:
        bodies = []
        for name, arguments, answer in (
            ("PermissionRequest", _ARGUMENTS, "allow"),
            ("ask_user", _NAMED_LIKE_IT, True),
        ):
            ask = await agent.submit(name, arguments, to="web")
            await person.answers(answer)
            body = await agent.receipt(ask.id)
            while body["link"] is None:
                body = await agent.receipt(ask.id)
            bodies.append(body)
        return *bodies, await agent.call("GET", "/.well-known/answerback-receipts.json")


def _changed(body: Any, *path: Any, to: Any) -> Any:
    changed = copy.deepcopy(body)
    *before, last = path
    place = changed
    for name in before:
        place = place[name]
    place[last] = to
    return changed


@pytest.mark.rule("RCPT-5")
@pytest.mark.rule("RCPT-9")
def test_a_whole_receipt_passes_and_every_change_is_found(
    documents: tuple[Any, ...], compiled: Path, tmp_path: Path
) -> None:
    body, named_like_it, keys = documents
    text = next(name for name, (_, value) in body["disclosed"].items() if value == _ARGUMENTS)
    changes = {
        "whole": body,
        "erased": _changed(body, "disclosed", to={}),
        "receipt": _changed(body, "receipt", "payload", "answers", "decision", to="deny"),
        "signature": _changed(body, "receipt", "signature", to="A" * 86),
        "kid": _changed(body, "receipt", "kid", to="other"),
        "text": _changed(body, "disclosed", text, 1, to={"tool_name": "Bash"}),
        "salt": _changed(body, "disclosed", text, 0, to="c2FsdA"),
        "added": _changed(body, "disclosed", _ZEROS, to=["salt", "more"]),
        "named": named_like_it,
        "forged": _changed(named_like_it, "disclosed", digest(canonical(_FORGED)), to=_FORGED),
        "moved": _changed(body, "link", "n", to=body["link"]["n"] + 1),
        "cut": _changed(body, "link", "previous", to=_ZEROS),
        "other": _changed(body, "link", "digest", to=_ZEROS),
    }
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    for name, changed in changes.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(changed, indent=1))
    doubled = json.dumps(body).replace('"payload": {', '"payload": {"version": 0, ', 1)
    (tmp_path / "twice.json").write_text(doubled)
    assert json.loads(doubled) == body, "whoever takes the last of two members misses the first"
    recipe = runpy.run_path(str(RECIPES / "verify_receipt.py"))

    def run(*command: object) -> int:
        done = subprocess.run(
            [*map(str, command), "keys.json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PYTHONPATH},
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert done.returncode in {0, 1}, (command, done.stderr)
        return done.returncode

    def find_by_recipe(name: str) -> bool:
        try:
            read = [recipe["read"](tmp_path / f"{each}.json") for each in (name, "keys")]
        except ValueError:
            return True
        return bool(recipe["faults"](*read))

    def find_by_us(name: str) -> bool:
        files = [str(tmp_path / f"{name}.json"), "--keys", str(tmp_path / "keys.json")]
        return CliRunner().invoke(main.app, ["verify", *files]).exit_code in {1, 2}

    checkers: dict[str, Callable[[str], object]] = {
        "python": find_by_recipe,
        "typescript": lambda name: run("node", compiled / "verify_receipt.js", f"{name}.json"),
        "ours": find_by_us,
    }
    for language, finds in checkers.items():
        passed = {name for name in (*changes, "twice") if not finds(name)}
        assert passed == {"whole", "erased", "named"}, language
    program = (sys.executable, RECIPES / "verify_receipt.py")
    assert [run(*program, f"{name}.json") for name in ("whole", "text")] == [0, 1]

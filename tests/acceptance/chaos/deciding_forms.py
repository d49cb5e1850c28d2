"""Forms that several people decide about together, and the service's configuration for them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

from answerback.ports.person_key import hash_of, new_token
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.acceptance.chaos.verdicts import ACCOUNTS, CONFIRMERS, REQUESTER, SECRET, Json

AGENT: Final = "ci"
FRONT_END: Final = "console"
_LISTED: Final = ["ann", "bob", "cy", "dee"]
_CALL: Final = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}


def configure(folder: Path) -> dict[str, str]:
    """Write the service's configuration; return the keys of the agent, the front end, and a personal link."""
    keys = {AGENT: new_token(), FRONT_END: new_token()}
    link = PersonalLinksFile(folder / "answerback.db").add("cy", 1_700_000_000.0)
    assert link is not None
    people = "\n".join(
        f"[people.{human}]\nids = {[':'.join(account) for account in accounts]}"
        for human, accounts in ACCOUNTS.items()
    )
    (folder / "answerback.toml").write_text(
        f"""
[agents.{AGENT}]
token_hash = "{hash_of(keys[AGENT])}"
callback_secret = "whsec_{"QUJD" * 8}"
owner = "{REQUESTER}"
[agents.{FRONT_END}]
role = "surface"
token_hash = "{hash_of(keys[FRONT_END])}"
[limits]
asks_per_minute = 0
open_asks = 0
[tools.ask_user.questions.site]
answer = "{SECRET} fixed"
[routes.pair]
to = "web"
responders = {_LISTED}
confirmations = 1
escalate = {{ after = 1.5, responders = {[*_LISTED, "fay"]} }}
[routes.board]
to = "web"
responders = {_LISTED}
confirmations = {{ count = 2, from = {sorted({*CONFIRMERS["board"], REQUESTER})} }}
on_expiry = "defaults"
{people}
"""
    )
    return {**keys, "cy": link}


def approval(_name: str, _chance: random.Random) -> Json:
    return {"name": "PermissionRequest", "dialect": "approval", "arguments": _CALL}


def texts(name: str, chance: random.Random) -> Json:
    """Some texts; the last one may be a question that the operator has answered for good."""
    questions: list[dict[str, Any]] = [
        {"id": f"q{n}", "text": f"{name} question {n}?", "answer_type": "text", "default": "-"}
        for n in range(chance.randint(1, 3))
    ]
    if chance.random() < 0.3:
        questions[-1] = {"id": "site", "text": "Where?", "answer_type": "text"}
    return {"name": "ask_user", "arguments": {"questions": questions}}


def reviewed(name: str, _chance: random.Random) -> Json:
    options = [{"value": each, "label": each} for each in ("north", "south")]
    questions = [
        {"id": f"q{n}", "prompt": f"{name} question {n}?", "options": options} for n in range(2)
    ]
    return {"name": "question", "arguments": {"questions": questions}}

"""Asks in the terminal what is allowed again, for how long and how many times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from answerback.cli.ask_output import get_dicts
from answerback.cli.terminal.answer_keys import ANSWER, Action, Json
from answerback.core.form import OptionKind
from answerback.core.grants import MINUTES
from answerback.core.labels import Labels
from answerback.presentation.durations import duration

Choose = Callable[[Sequence[str]], Awaitable[int | None]]
_USES: Final = (1, 5, 10, 20, 50)


async def read_grant(ask: Json, choose: Choose, labels: Labels) -> Action | None:
    """Return the answer that allows once, with what is allowed again; None if the person changed their mind.

    Args:
        choose: lets the person choose one of the texts.
    """
    prompt = ask["prompt"]
    if not isinstance(prompt, dict):
        raise TypeError("only an open ask prompts")
    offered, options = get_dicts(prompt, "grants"), get_dicts(prompt, "options")
    once = next(each["value"] for each in options if each.get("kind") == OptionKind.ALLOW_ONCE)
    if (which := await choose([str(each["text"]) for each in offered])) is None:
        return None
    most = offered[which]
    minutes = [each for each in MINUTES if each <= int(str(most["minutes"]))]
    if (for_long := await choose([duration(60 * each, labels) for each in minutes])) is None:
        return None
    uses = [each for each in _USES if each <= int(str(most["uses"]))]
    if (often := await choose([f"{labels.grant_uses}: {each}" for each in uses])) is None:
        return None
    terms: Action = {"match": most["match"], "minutes": minutes[for_long], "uses": uses[often]}
    return {"action": ANSWER, "value": once, "grant": terms}

"""Prints asks: as a line for people, and as the result of a command that waits for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NoReturn

from pydantic import JsonValue

from answerback_agents.cli.output import columns, print_json, print_result, say, warn
from answerback_base.headline_text import fit
from answerback_base.sanitize import as_json, one_line

EXIT_CODES: Final = {
    "answered": 0,
    "cancelled": 3,
    "turn_ended": 4,
    "expired": 5,
    "withdrawn": 6,
    "failed": 7,
}
"""The exit codes, by how an ask ended."""
EXIT_STILL_OPEN: Final = 8
EXIT_ASKED_BACK: Final = 9
BY_DEFAULT: Final = "default"
"""The source of an answer that nobody gave."""
GAVE_UP: Final = {
    "denied": "denied, because it was not decided in time",
    "gone": "ended, because the agent's host no longer waits for it",
}


def describe_status(ask: Mapping[str, JsonValue]) -> str:
    """Describe an ask's status; defaults taken at a deadline are not an answer."""
    if ask["gave_up"] is not None:
        return GAVE_UP[str(ask["gave_up"])]
    status = str(ask["status"]).replace("_", " ")
    sources = ask["sources"] if isinstance(ask["sources"], dict) else {}
    defaults = [name for name, source in sources.items() if source == BY_DEFAULT]
    if not defaults:
        return status
    if len(defaults) == len(sources):
        return "defaults used: nobody answered in time"
    named = one_line(", ".join(defaults))
    return f"{status}, with defaults for {named}: nobody answered these in time"


def describe_ask_back(ask: Mapping[str, JsonValue]) -> str:
    """Describe what a person asked back; empty if nobody did."""
    clarify = ask["clarify"]
    if not isinstance(clarify, dict):
        return ""
    by = clarify["by"]
    name = by.get("name") if isinstance(by, dict) else None
    return f"{name or 'Someone'} asks back: {clarify['text']}"


def exit_with(ask: Mapping[str, JsonValue], *, content: bool, whole: bool) -> NoReturn:
    """Print the result of an ask, and end the command with the exit status for how it is.

    Args:
        content: print only the text for the model.
        whole: print the whole ask in place of the tool result.
    """
    status = str(ask["status"])
    if status == "open":
        _exit_still_open(ask, content=content, whole=whole)
    from answerback_agents.pipe.saved_files import describe_files, files_of  # not to list asks

    tool_result = ask["tool_result"]
    if isinstance(tool_result, dict) and (files := describe_files(files_of(ask))):
        tool_result = {**tool_result, "content": f"{tool_result['content']}\n{files}"}
    if content and isinstance(tool_result, dict):
        print_result(str(tool_result["content"]))
    else:  # the result is null if the turn ended: nothing goes back to the model
        print_json(ask if whole else tool_result)
    say(f"{ask['id']}: {describe_status(ask)}.")
    sys.exit(EXIT_CODES[status])


def _exit_still_open(ask: Mapping[str, JsonValue], *, content: bool, whole: bool) -> NoReturn:
    """End the command while the ask is open. If a person asked back, that is the result, for the agent to explain."""
    keep_waiting = f"`answerback wait {ask['id']}`"
    asked = ask["clarify"]
    if not isinstance(asked, dict):
        if whole:
            print_json(ask)
        warn(
            f"Nobody has answered yet. {ask['id']} stays open. To keep waiting, run {keep_waiting}."
        )
        sys.exit(EXIT_STILL_OPEN)
    print_result(str(asked["text"]) if content else as_json(ask if whole else asked))
    say(f"{one_line(describe_ask_back(ask))}")
    say(f"Explain it with `answerback explain {ask['id']} TEXT`, then run {keep_waiting}.")
    sys.exit(EXIT_ASKED_BACK)


def summary_line(ask: Mapping[str, JsonValue]) -> str:
    """Format an ask as a line: its id, when it was submitted, who asked, where, and what it is about."""
    if isinstance(ask["prompt"], dict):
        state = f"closes {local_time(ask['expires_at'])}" if ask["expires_at"] else ""
    else:
        state = describe_status(ask)
    when = local_time(ask["created_at"])
    return columns(
        ask["id"],
        when,
        ask["asked_by"],
        ask["surface"],
        marked_subject(ask),
        state,
        describe_ask_back(ask),
    )


URGENCIES: Final = {"high": "urgent", "low": "not urgent"}
"""The words for asks that are more or less urgent than most."""


def marked_subject(ask: Mapping[str, JsonValue]) -> str:
    """Return the subject of an ask, with its marks in front: how urgent it is while it is open, and the word of its
    route."""
    urgency = URGENCIES.get(str(ask.get("urgency"))) if ask["status"] == "open" else None
    mark = ask.get("mark")
    word = str(mark["word"]) if isinstance(mark, dict) else None
    marks = ", ".join(filter(None, (urgency, word)))
    return f"[{marks}] {subject(ask)}" if marks else subject(ask)


def subject(ask: Mapping[str, JsonValue]) -> str:
    """Return the subject of an open ask: its headline, and the question that is open if it is another one."""
    prompt, headline = ask["prompt"], str(ask["headline"])
    if not isinstance(prompt, dict) or prompt["text"] is None:
        return headline
    if prompt["kind"] == "question" and prompt["position"] == 1:
        return headline
    return f"{headline} › {fit(str(prompt['text']))}"


def local_time(value: JsonValue) -> str:
    """Format one of the API's times in this machine's time zone."""
    return format_local_time(datetime.fromisoformat(str(value)).timestamp())


def format_local_time(at: float) -> str:
    """Format a timestamp in this machine's time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def get_dicts(of: Mapping[str, JsonValue], name: str) -> list[dict[str, JsonValue]]:
    """The objects in a list; empty if there is no such list."""
    value = of.get(name)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []

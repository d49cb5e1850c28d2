"""Changes a call in the person's own editor before they allow it: they read what they have changed, and confirm it."""

from __future__ import annotations

from typing import Final

from answerback.cli.terminal.answer_keys import ANSWER, Action
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.edited_call import describe_difference
from answerback.core.form import OptionKind
from answerback_agents.cli.ask_output import get_dicts
from answerback_base import json_edits, strict_json
from answerback_client import Ask

_INDENT: Final = "  "


async def read_edited_call(ask: Ask, prompter: TerminalPrompter) -> Action | None:
    """Return the answer that allows the call as the person has changed it; None if nothing was changed."""
    prompt = ask.prompt or {}
    before, start = str(prompt["arguments"]), prompt.get("prefill_edited")
    text = _a_member_a_line(str(start or before))
    prompter.print_line(prompter.labels.edit_about)
    while True:
        edited = await prompter.edit_text(text)
        if edited is None and start is None:
            return None
        text = text if edited is None else edited
        try:
            strict_json.parse(text)
        except strict_json.NotJsonError as error:
            prompter.print_error(f"This is not JSON: {error}.")
            if await prompter.choose([prompter.labels.edit_call]) is None:
                return None
            continue
        break
    if json_edits.is_same(before, text):
        return None
    prompter.print_line(prompter.labels.edited)
    for line in describe_difference(before, text).split("\n"):
        prompter.print_line(line)
    once = next(o for o in get_dicts(prompt, "options") if o.get("kind") == OptionKind.ALLOW_ONCE)
    if await prompter.choose([str(once["label"])]) is None:
        return None
    return {"action": ANSWER, "value": once["value"], "edited": text}


def _a_member_a_line(arguments: str) -> str:
    """Return an object with each member on a line of its own, as it is written."""
    members = strict_json.written_members(arguments).values()
    lines = ",\n".join(f"{_INDENT}{key}: {value}" for key, value in members)
    return f"{{\n{lines}\n}}\n" if lines else "{}\n"

"""``answerback answer --batch``: decides about several permissions, which are listed with their whole contexts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from answerback.cli.terminal import question_context
from answerback.cli.terminal.line_input import LineInput
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.terminal_output import Fragments, print_lines, text_line
from answerback.core.form import OptionKind
from answerback.presentation.batch_rows import fits_in_row, says_no_more
from answerback_agents.cli.api_client import fetch_all
from answerback_agents.cli.ask_output import get_dicts, marked_subject
from answerback_client import Ask, AsyncClient

_MOST: Final = 100
"""The most asks that one call decides about."""
_PAGE: Final = 200
"""The most asks that the service lists at once."""
_NUMBERS: Final = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", re.ASCII)
_HINT: Final = "Numbers to decide about, such as 1 3-5 (q leaves all of them open):"
_DIM: Final = "ansibrightblack"
_DECISIONS: Final = ("allow_once", "deny")


@dataclass(frozen=True, slots=True)
class BatchList:
    """A list of permissions in front of one person."""

    client: AsyncClient
    prompter: TerminalPrompter
    lines: LineInput
    actor: dict[str, JsonValue] | None
    """The person, whom a front end's token vouches for; None if the key tells."""
    surface: str | None
    """The only surface on which they can act; None: any."""

    async def work_through(self) -> None:
        """List and decide, until nothing is left or the person leaves the rest open."""
        say, labels = self.prompter.print_line, self.prompter.labels
        while asks := await self._read():
            await self.lines.discard_typed()
            print_lines(line for n, ask in enumerate(asks, 1) for line in self._row(n, ask))
            if (chosen := await self._read_numbers(len(asks))) is None:
                return
            decision = await self.prompter.choose([labels.allow_once, labels.deny])
            if decision is None:
                continue
            allow = decision == 0
            ticked = [asks[n - 1] for n in chosen if not allow or _is_whole(asks[n - 1])]
            done = await self._decide(ticked, _DECISIONS[decision]) if ticked else 0
            say(f"{labels.allow_once if allow else labels.deny}: {done}.")
            if left := len(chosen) - done:
                say(labels.batch_left.format(count=left))
        say("Nothing is waiting that can be decided together with others.")

    async def _read(self) -> list[Ask]:
        """Read the first permissions; the service has the last word on whether they can be decided so."""
        query = {"order": "urgency", "limit": str(_PAGE)}
        found = await fetch_all(self.client, "/v1/asks", query, "asks")
        return [
            ask
            for ask in map(Ask.of, found)  # with questions among them
            if self.surface in {None, ask.json["surface"]}
            and any(each.get("kind") == OptionKind.DENY for each in _options(ask))
        ][:_MOST]

    def _row(self, number: int, ask: Ask) -> Iterator[Fragments]:
        yield []
        yield text_line(f"{number:>3}  {marked_subject(ask.json)}", "bold")
        yield text_line(f"     {ask.json['asked_by']}, {ask.json['surface']}, {ask.id}", _DIM)
        if not _is_whole(ask):
            yield text_line(f"     {self.prompter.labels.batch_open}", _DIM)
            return
        prompt = ask.prompt or {}
        lines = question_context.render_context(prompt) if prompt.get("context") else ()
        yield from ([("", "     "), *line] for line in lines)

    async def _read_numbers(self, most: int) -> list[int] | None:
        self.prompter.print_line(_HINT)
        while True:
            line = str(await self.lines.read_line()).strip()
            if line in {"", "q", "escape"}:
                return None
            if (numbers := _parse_numbers(line, most)) is not None:
                return numbers
            self.prompter.print_error(f"Enter numbers from 1 to {most}, or q.")

    async def _decide(self, asks: Sequence[Ask], decision: str) -> int:
        """Decide about asks; returns how many are decided."""
        named = [{"id": ask.id, "revision": ask.revision} for ask in asks]
        body = {"asks": named, "decision": decision, "actor": self.actor}
        answer = await self.client.call("POST", "/v1/batches", json=body, repeat=False)
        return sum(each["status"] == 200 for each in get_dicts(answer, "results"))


def _parse_numbers(line: str, most: int) -> list[int] | None:
    """Return the numbers that a line lists, in order and each once; None if it is anything else."""
    found: set[int] = set()
    for part in re.split(r"[\s,]+", line):
        match = _NUMBERS.fullmatch(part)
        if match is None:
            return None
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(found) if found and found <= set(range(1, most + 1)) else None


def _options(ask: Ask) -> Sequence[dict[str, JsonValue]]:
    return get_dicts(ask.prompt or {}, "options")


def _is_whole(ask: Ask) -> bool:
    """Return True if the row of an ask says all that there is to read before allowing it."""
    prompt = ask.prompt or {}
    allowing = [
        each
        for each in _options(ask)
        if each.get("kind") == OptionKind.ALLOW_ONCE
        and says_no_more(str(each["label"]))
        and not (each.get("description") or each.get("preview"))
    ]
    context, context_format = str(prompt.get("context") or ""), question_context.format_of(prompt)
    fits = fits_in_row(str(prompt.get("text")), context, context_format)
    return len(allowing) == 1 and fits and not prompt.get("asides")

"""``/answerback snooze``: people take questions off their own lists in a chat, and put them back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerback.core.ask import Ask, headline_of
from answerback.core.person import Person
from answerback.ports.clock import Clock
from answerback.ports.commands import COMMAND, Command, CommandAnswer, CommandButton, CommandUse
from answerback.ports.extension import PeoplesLists
from answerback.ports.surface import Actor
from answerback.presentation.attribution import utc_time
from answerback_away import texts
from answerback_away.absences import parse_until
from answerback_away.snoozes import Snoozed, Snoozes
from answerback_base.sanitize import one_line

SNOOZE: Final = "snooze"
SNOOZE_COMMAND: Final = Command(SNOOZE, texts.SNOOZE_ABOUT)
_BACK: Final = "back"
_USUAL: Final = "4h"
_LISTED: Final = 5
"""The most questions that are listed, each with a button."""
_ID_LETTERS: Final = 12
"""So much of an id fits into a button's command beside a day; the rest of it is not needed."""
_TIME: Final = re.compile(r"([0-9a-z-]{2,10})?\Z", re.ASCII)
"""A time as a button's command can have it; an empty one stands for the usual time."""
_ID: Final = re.compile(r"ask_[0-9a-z]{1,40}", re.ASCII)


def subject_of(ask: Ask) -> str:
    return one_line(headline_of(ask.form))


def snoozed_text(snoozed: Snoozed) -> str:
    """Return what has been taken off a list, and until when."""
    return texts.SNOOZED.format(time=utc_time(snoozed.until), what=subject_of(snoozed.ask))


@dataclass(frozen=True, slots=True)
class SnoozeCommand:
    """The command, as people use it."""

    snoozes: Snoozes
    lists: PeoplesLists
    clock: Clock

    def command(self) -> Command:
        return SNOOZE_COMMAND._replace(answer=self._answer)

    async def _answer(self, use: CommandUse) -> CommandAnswer:
        what, _, ask_id = use.text.partition(" ")
        until = parse_until(what or _USUAL, self.clock.now()) if _TIME.match(what) else None
        if until is None and what != _BACK:
            return CommandAnswer(texts.BAD_SNOOZE)
        if not ask_id:
            return await self._list(use.person, _USUAL if what in {"", _BACK} else what)
        ask = await self._find(use.person, ask_id.strip())
        if ask is None:
            return CommandAnswer(texts.NOT_WAITING)
        if until is None:
            await self.snoozes.show_again(use.person, ask)
            return CommandAnswer(texts.SHOWN_AGAIN.format(what=subject_of(ask)))
        await self.snoozes.snooze(use.person, ask, until)
        undo = CommandButton(texts.UNDO, f"{SNOOZE} {_BACK} {_short(ask)}")
        text = f"{snoozed_text(Snoozed(ask, until))}\n{texts.SNOOZE_EXPLAINED}"
        return CommandAnswer(text, (undo,))

    async def _find(self, person: Person, ask_id: str) -> Ask | None:
        beginning = f"ask_{ask_id.removeprefix('ask_')}"
        return await self.snoozes.find(person, beginning) if _ID.fullmatch(beginning) else None

    async def _list(self, person: Person, length: str) -> CommandAnswer:
        page = await self.lists.list_waiting_for(Actor(person), None, _LISTED)
        lines, buttons = [texts.WAITING if page.rows else texts.NOTHING_WAITS], []
        for number, ask in enumerate(page.rows, 1):
            lines.append(f"{number}. {subject_of(ask)}")
            label = texts.SNOOZE_NUMBER.format(number=number)
            buttons.append(CommandButton(label, f"{SNOOZE} {length} {_short(ask)}"))
        if page.after is not None:
            lines.append(texts.FIRST_ONES.format(count=len(page.rows)))
        if page.rows:
            command = f"/{COMMAND} {SNOOZE}"
            lines.append(texts.SNOOZE_USAGE.format(length=length, command=command))
        snoozed = await self.snoozes.list_of(person)
        lines += _back_lines(snoozed, len(page.rows), buttons)
        return CommandAnswer("\n".join(lines), tuple(buttons))


def _back_lines(
    snoozed: Sequence[Snoozed], numbered: int, buttons: list[CommandButton]
) -> list[str]:
    """Return the lines about what is snoozed, and add the buttons that put it back."""
    lines = [f"{texts.SNOOZED_LIST}:"] if snoozed else []
    for number, each in enumerate(snoozed[:_LISTED], numbered + 1):
        until = texts.UNTIL.format(time=utc_time(each.until))
        lines.append(f"{number}. {subject_of(each.ask)}, {until}")
        label = texts.SHOW_NUMBER.format(number=number)
        buttons.append(CommandButton(label, f"{SNOOZE} {_BACK} {_short(each.ask)}"))
    if len(snoozed) > _LISTED:
        lines.append(texts.FIRST_ONES.format(count=_LISTED))
    return lines


def _short(ask: Ask) -> str:
    return ask.id.removeprefix("ask_")[:_ID_LETTERS]

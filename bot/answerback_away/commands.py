"""``/answerback away`` and ``/answerback hours``: people say in a chat that they are away, and when they are told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from answerback.core.person import Person
from answerback.ports.commands import COMMAND, Command, CommandAnswer, CommandButton, CommandUse
from answerback.presentation.attribution import utc_time
from answerback_away import texts
from answerback_away.absences import Said, parse_hours, parse_until
from answerback_away.announced_absences import AnnouncedAbsences
from answerback_base.sanitize import one_line

AWAY: Final = "away"
HOURS: Final = "hours"
AWAY_COMMAND: Final = Command(AWAY, texts.AWAY_ABOUT)
HOURS_COMMAND: Final = Command(HOURS, texts.HOURS_ABOUT)
_BACK: Final = "back"
_OFF: Final = "off"
_MENTION: Final = re.compile(r"<@!?([^|>]+)(?:\|[^>]*)?>")
"""A person in a text, as Slack and Discord write them: ``<@U012>``, ``<@U012|ann>``, ``<@!99>``."""


def name_of(person: Person) -> str:
    return one_line(person.name or person.user_id)


def about(said: Said, now: float) -> str:
    """Return what holds for a person, in a sentence each."""
    absence, lines = said.absent(now), []
    if absence is None:
        lines.append(texts.HERE)
    else:
        lines.append(
            texts.AWAY.format(time=utc_time(absence.until), name=name_of(absence.stand_in))
        )
    if said.hours is not None:
        lines.append(texts.HOURS.format(hours=said.hours.text))
    return "\n".join(lines)


def commands_of(away: AnnouncedAbsences) -> Sequence[Command]:
    async def leave(use: CommandUse) -> CommandAnswer:
        when, _, who = use.text.partition(" ")
        if when == _BACK:
            await away.return_(use.person)
        elif use.text:
            problem = await _leave(away, use.person, when, who.strip())
            if problem is not None:
                return CommandAnswer(problem)
        said = await away.said_by(use.person)
        is_away = said.absent(away.now()) is not None
        buttons = (CommandButton(texts.BACK, f"{AWAY} {_BACK}"),) if is_away else ()
        usage = texts.AWAY_USAGE.format(command=f"/{COMMAND} {AWAY}")
        return CommandAnswer(f"{about(said, away.now())}\n{usage}", buttons)

    async def hours(use: CommandUse) -> CommandAnswer:
        usage = texts.HOURS_USAGE.format(command=f"/{COMMAND} {HOURS}")
        if use.text == _OFF:
            await away.set_hours(use.person, None)
        elif use.text:
            if (found := await asyncio.to_thread(parse_hours, use.text)) is None:
                return CommandAnswer(f"{texts.BAD_HOURS}\n{usage}")
            await away.set_hours(use.person, found)
        said = await away.said_by(use.person)
        held = texts.HOURS.format(hours=said.hours.text) if said.hours else texts.ANY_TIME
        return CommandAnswer(f"{held}\n{usage}")

    return (
        AWAY_COMMAND._replace(answer=leave),
        HOURS_COMMAND._replace(answer=hours),
    )


async def _leave(away: AnnouncedAbsences, person: Person, when: str, who: str) -> str | None:
    """Note that a person is away; returns what is wrong with that."""
    until = parse_until(when, away.now())
    if until is None:
        return texts.BAD_TIME
    mention = _MENTION.fullmatch(who)
    stand_in = (
        Person(surface=person.surface, user_id=mention[1])
        if mention
        else away.find_person(who, person.surface)
    )
    if isinstance(stand_in, str):
        return texts.REFUSED[stand_in]
    return texts.REFUSED.get(await away.leave(person, until, stand_in) or "")

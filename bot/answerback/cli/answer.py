"""``answerback answer``: answers an ask in the terminal, through the API of the running service."""

from __future__ import annotations

import asyncio
import getpass
import os
import stat
import sys
from typing import Final

from pydantic import JsonValue

from answerback.cli.answer_keys import Action
from answerback.cli.line_input import PipedInput, TerminalInput
from answerback.cli.output import fail, say
from answerback.cli.prompt import TerminalPrompter
from answerback.cli.service_address import local_key, resolve_url
from answerback.core.labels import Labels
from answerback.ports.person_key import is_personal
from answerback.runtime.config_file import load_settings
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import shorten
from answerback_client import (
    Ask,
    AsyncClient,
    ClientError,
    InvalidCallError,
    NotFoundError,
    StaleError,
)

_PATIENCE: Final = 5.0
_SHOWN: Final = 20
"""Open asks that are offered; older ones are named on the command line."""
_QUESTION_ROOM: Final = 120
"""Characters of a question among those that are offered."""
_EXIT_STILL_OPEN: Final = 8
"""As `answerback ask` exits while nobody has answered."""


def run(ask: str | None, url: str | None, token: str | None, user: str | None) -> None:
    """Walks a person through an ask at the terminal."""
    if not sys.stdin.isatty() and not _has_lines(sys.stdin.fileno()):
        fail("This needs a terminal, or lines on standard input.", 2)
    base = resolve_url(url)
    bearer = token or local_key(base)
    try:
        asyncio.run(
            _answer(
                base, bearer, ask, user or getpass.getuser(), _prompting(load_settings().labels)
            )
        )
    except ClientError as error:
        fail(f"{base}: {error}")


def _has_lines(descriptor: int) -> bool:
    """Whether standard input is more than a device that has nothing to say, such as /dev/null."""
    return not stat.S_ISCHR(os.fstat(descriptor).st_mode)


def _prompting(labels: Labels) -> TerminalPrompter:
    if sys.stdin.isatty():
        return TerminalPrompter(labels, TerminalInput())
    return TerminalPrompter(labels, PipedInput(sys.stdin.buffer, say))


async def _answer(
    base: str, token: str | None, ask_id: str | None, user: str, prompting: TerminalPrompter
) -> None:
    async with AsyncClient(base, token, patience=_PATIENCE) as client:
        actor: dict[str, JsonValue] | None = {"user_id": user, "name": user}
        if token is not None and is_personal(token):
            actor = None  # whose link it is says who acts
        try:
            ask = await (client.get(ask_id) if ask_id else _picked(client, prompting))
            if ask is not None:
                await Walk(client, prompting, actor).walk(ask)
        except NotFoundError:
            fail(f"There is no ask {ask_id}.")
        except EOFError:
            fail("The input has ended: what was asked stays open.", _EXIT_STILL_OPEN)


async def _picked(client: AsyncClient, prompting: TerminalPrompter) -> Ask | None:
    """The open ask that the person chooses; the only one without asking."""
    asks = await client.open_asks(limit=_SHOWN)
    if len(asks) <= 1:
        if not asks:
            say("Nothing is waiting for an answer.")
        return asks[0] if asks else None
    place = await prompting.choose([_in_short(ask) for ask in asks])
    return None if place is None else asks[place]


def _in_short(ask: Ask) -> str:
    text = shorten(one_line(str(ask.prompt["text"] if ask.prompt else "")), _QUESTION_ROOM)
    return f"{text}  ({ask.json['asked_by']}, {ask.json['surface']}, {ask.id})"


_ANSWERS: Final = frozenset({"answer", "other"})
"""Actions whose value a prompt can start from."""


class Walk:
    """One person's way through one ask."""

    def __init__(
        self, client: AsyncClient, prompting: TerminalPrompter, actor: dict[str, JsonValue] | None
    ) -> None:
        self._client = client
        self._prompting = prompting
        self._actor = actor

    async def walk(self, ask: Ask) -> None:
        """Prompts until the ask has ended or is left open."""
        start: Action | None = None
        while ask.open:
            action = await self._prompting.prompt_action(ask.json, start)
            if action is None:
                self._prompting.print_line(f"{ask.id} stays open.")
                return
            ask, start = await self._acted(ask, action)
        self._ended(ask)

    async def _acted(self, ask: Ask, action: Action) -> tuple[Ask, Action | None]:
        """The ask as it stands after the action, and what its prompt starts from where the question is the same."""
        prompting = self._prompting
        entered = action if action["action"] in _ANSWERS else prompting.unsent_selection
        try:
            acted = await self._client.act(ask.id, action, revision=ask.revision, actor=self._actor)
        except StaleError as error:
            if _is_same_question(ask, error.ask):
                prompting.print_error(
                    "More was said about this question. Please read it, then answer:"
                )
                return error.ask, entered
            prompting.print_error("Somebody else was faster. This is how it stands now:")
            return error.ask, None
        except InvalidCallError as error:
            for line in _words(error):
                prompting.print_error(line)
            return ask, entered
        return acted, entered if action["action"] == "ask_back" else None

    def _ended(self, ask: Ask) -> None:
        person = ask.json["ended_by"]
        name = (person.get("name") or person.get("user_id")) if isinstance(person, dict) else None
        by = f" by {name}" if name else ""
        self._prompting.print_line(f"{ask.id}: {ask.status.replace('_', ' ')}{by}.")


def _is_same_question(before: Ask, now: Ask) -> bool:
    """Whether nothing has changed but what was asked back and explained."""
    return (before.answers, _question_id(before)) == (now.answers, _question_id(now))


def _question_id(ask: Ask) -> JsonValue:
    return ask.prompt["question_id"] if ask.prompt else None


def _words(error: InvalidCallError) -> list[str]:
    errors = error.problem.get("errors")
    found = (
        [str(one.get("message")) for one in errors if isinstance(one, dict)]
        if isinstance(errors, list)
        else []
    )
    return found or [str(error)]

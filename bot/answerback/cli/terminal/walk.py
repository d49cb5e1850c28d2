"""``answerback answer``: answers an ask in the terminal, through the API of the running service."""

from __future__ import annotations

import getpass
import os
import stat
import sys
from dataclasses import dataclass
from typing import Final, TextIO
from urllib.parse import quote

from pydantic import JsonValue, TypeAdapter

from answerback.cli.terminal.answer_keys import ANSWER, EDIT_CALL, GRANT, SHOW_IN_FULL, Action
from answerback.cli.terminal.batch import BatchList
from answerback.cli.terminal.call_editor import read_edited_call
from answerback.cli.terminal.line_input import PipedInput, TerminalInput
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.form import OptionKind
from answerback.core.grants import MINUTES
from answerback.core.view import SentCall
from answerback.ports.person_key import is_personal
from answerback.presentation.durations import duration
from answerback.presentation.sent_call import sent_call_text
from answerback.runtime.config_file import load_settings
from answerback.service.submission_request import DEFAULT_SURFACE
from answerback_agents.cli.api_client import call_service, resolve_access
from answerback_agents.cli.ask_output import (
    EXIT_STILL_OPEN,
    describe_status,
    get_dicts,
    marked_subject,
)
from answerback_agents.cli.output import EXIT_USAGE, fail, name_of, say
from answerback_client import Ask, AsyncClient, InvalidCallError, StaleError, UnauthorizedError

_MAX_OFFERED: Final = 20
"""The number of open asks that are offered; others have to be named on the command line."""
_USES: Final = (1, 5, 10, 20, 50)
"""The numbers of uses that a grant may have."""


def run(
    ask: str | None, url: str | None, token: str | None, user: str | None, *, batch: bool
) -> None:
    """Walk a person through an ask in the terminal, or through a list of permissions."""
    if batch and ask:
        fail("Name an ask, or use --batch to list all of them.", EXIT_USAGE)
    if not _can_provide_lines(sys.stdin):
        fail("`answerback answer` needs a terminal, or lines on standard input.", EXIT_USAGE)
    name = user or getpass.getuser()
    actor: dict[str, JsonValue] | None = {"user_id": name, "name": name}
    if token is not None and is_personal(token):
        actor = None  # the key of a personal link identifies the person
    lines = TerminalInput() if sys.stdin.isatty() else PipedInput(sys.stdin.buffer, say)
    prompter = TerminalPrompter(load_settings().labels, lines)

    async def work(client: AsyncClient) -> None:
        try:
            if batch:
                surface = (
                    None if token else DEFAULT_SURFACE
                )  # the service's own key acts nowhere else
                await BatchList(client, prompter, lines, actor, surface).work_through()
                return
            chosen = await (client.get(ask) if ask else _choose_ask(client, prompter))
            if chosen is not None:
                await Walk(client, prompter, actor).walk(chosen)
        except EOFError:
            fail("The input has ended. The ask stays open.", EXIT_STILL_OPEN)

    call_service(resolve_access(url, token), work)


def _can_provide_lines(source: TextIO | None) -> bool:
    """Return True if standard input can provide lines; a device such as /dev/null cannot, nor can a closed one."""
    if source is None:
        return False
    return source.isatty() or not stat.S_ISCHR(os.fstat(source.fileno()).st_mode)


async def _choose_ask(client: AsyncClient, prompter: TerminalPrompter) -> Ask | None:
    """Let the person choose an open ask; if there is only one, take it without asking."""
    asks = await client.open_asks(limit=_MAX_OFFERED, order="urgency")
    if len(asks) <= 1:
        if not asks:
            say("Nothing is waiting for an answer.")
        return asks[0] if asks else None
    place = await prompter.choose([_summarise(ask) for ask in asks])
    return None if place is None else asks[place]


def _summarise(ask: Ask) -> str:
    return f"{marked_subject(ask.json)}  ({ask.json['asked_by']}, {ask.json['surface']}, {ask.id})"


_ANSWERS: Final = frozenset({"answer", "other"})
"""Actions whose value a prompt can be prefilled with."""
_STAYING: Final = frozenset({"ask_back", "hand_over"})
"""Actions that leave the question as it is, and what was entered with it."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One person's way through one ask."""

    client: AsyncClient
    prompter: TerminalPrompter
    actor: dict[str, JsonValue] | None

    async def walk(self, ask: Ask) -> None:
        """Prompt until the ask has ended or the person leaves it open."""
        start: Action | None = None
        while ask.open:
            action = await self.prompter.prompt_action(ask.json, start)
            if action is None:
                self.prompter.print_line(f"{ask.id} stays open.")
                return
            start = self.prompter.unsent
            if action["action"] == SHOW_IN_FULL:
                await self._show_in_full(ask)
                continue
            if (read := _READERS.get(str(action["action"]))) is not None:
                entered = await read(ask, self.prompter)
                if entered is None:
                    continue
                action = action | entered
            if (action := await self._once_more(ask, action)) is not None:
                ask, start = await self._act(ask, action)
        self._report_end(ask)
        if ask.json["gave_up"] is not None and ask.json["tried_again"] is None:
            await self._offer_retry(ask)

    async def _once_more(self, ask: Ask, action: Action) -> Action | None:
        """Ask once more before something is allowed of which nothing is known; None: it is not meant."""
        prompt = ask.prompt or {}
        if action["action"] != ANSWER or not prompt.get("nothing_known"):
            return action
        chosen = next(o for o in get_dicts(prompt, "options") if o["value"] == action["value"])
        if chosen.get("kind") == OptionKind.DENY:
            return action
        self.prompter.print_error("Nothing is known of what this will do.")
        sure = await self.prompter.choose([f"{chosen['label']}, unseen"])
        return None if sure is None else {**action, "unseen": True}

    async def _show_in_full(self, ask: Ask) -> None:
        """Print the call as it was sent, and the folder of its agent."""
        sent = await self.client.call("GET", f"/v1/asks/{quote(ask.id, safe='')}/call")
        shown = TypeAdapter(SentCall).validate_python(sent)
        for text in filter(None, sent_call_text(shown, self.prompter.labels)):
            for line in text.split("\n"):
                self.prompter.print_line(line)

    async def _act(self, ask: Ask, action: Action) -> tuple[Ask, Action | None]:
        """Act on the ask; returns its new state, and what to prefill the prompt with if the question is the same."""
        prompter = self.prompter
        entered = action if action["action"] in _ANSWERS else prompter.unsent
        try:
            acted = await self.client.act(ask.id, action, revision=ask.revision, actor=self.actor)
        except StaleError as error:
            if _is_same_question(ask, error.ask):
                prompter.print_error(
                    "There is something new about this question. Please read it, then answer:"
                )
                return error.ask, entered
            prompter.print_error("Someone else was faster. This is the current state:")
            return error.ask, None
        except InvalidCallError as error:
            self._print_errors(error)
            return ask, entered
        except UnauthorizedError as error:
            if action["action"] != "confirm":
                raise
            # Another person may confirm; this one may still object.
            prompter.print_error(str(error))
            return ask, entered
        return acted, entered if action["action"] in _STAYING else None

    async def _offer_retry(self, ask: Ask) -> None:
        """Offer to tell the agent to try again what nobody allowed in time."""
        try:
            if await self.prompter.choose([self.prompter.labels.tell_to_try_again]) is None:
                return
            if (text := await self.prompter.read_retry_text()) is None:
                return
            await self.client.retry(ask.id, text or None, actor=self.actor)
        except EOFError:
            return  # there was nothing left to answer
        except InvalidCallError as error:
            self._print_errors(error)
        else:
            self.prompter.print_line(f"{ask.id}: the agent will be told to try again.")

    def _print_errors(self, error: InvalidCallError) -> None:
        for line in error.messages or [str(error)]:
            self.prompter.print_error(line)

    def _report_end(self, ask: Ask) -> None:
        # Who confirmed the answers last did not give them.
        name = "" if ask.json["confirmed_by"] else name_of(ask.json["ended_by"])
        by = f" by {name}" if name else ""
        self.prompter.print_line(f"{ask.id}: {describe_status(ask.json)}{by}.")


def _is_same_question(before: Ask, now: Ask) -> bool:
    """Return True if nothing has changed except what was asked back and explained."""
    return _question_state(before) == _question_state(now)


def _question_state(ask: Ask) -> tuple[JsonValue, ...]:
    prompt = ask.prompt or {}
    return ask.answers, prompt.get("question_id"), prompt.get("prefill_note")


async def _read_grant(ask: Ask, prompter: TerminalPrompter) -> Action | None:
    """Return the answer that allows once, with what is allowed again; None if the person changed their mind."""
    choose, labels, prompt = prompter.choose, prompter.labels, ask.prompt or {}
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


_READERS: Final = {GRANT: _read_grant, EDIT_CALL: read_edited_call}
"""The functions that read the rest of an action that begins with a key."""

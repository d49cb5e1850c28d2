"""Read a submission: the call that it makes, where its ask goes and who may act there, and what comes with it.

`answerback.service.submission_plan` has the rules of calls and routes; here they meet the surfaces that are configured.
Nothing is stored: `answerback.service.submit` does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeGuard, TypeVar

from answerback.core.ask import Destination, OtherAccount
from answerback.core.edited_call import EditableCall
from answerback.core.errors import InvalidCallError, Problem
from answerback.core.too_late import APPROVAL
from answerback.dialects import registry
from answerback.dialects.approvals.edits import editable_calls
from answerback.dialects.registry import ParsedCall
from answerback.ports.surface import SupportsPlaceGroups, Surface
from answerback.service.act_or_refuse import ChangeCommitter
from answerback.service.files import NO_ATTACHMENTS, Attachments, Files
from answerback.service.json_bodies import unknown_surface
from answerback.service.submission_confirmers import find_confirmation_problem
from answerback.service.submission_plan import Plan, plan
from answerback.service.submission_request import (
    Agent,
    Routes,
    Submission,
    name_of,
    normalize_responders,
)

_Read = TypeVar("_Read")

_NO_FOLDER: Final = Problem(
    pointer="/files",
    code="unknown_value",
    message="A permission prompt shows no pictures of the agent's folder, and its arguments stay as they are. Submit "
    "it without these.",
)


@dataclass(frozen=True, slots=True)
class ReadSubmission:
    """A submission without any problem."""

    parsed: ParsedCall
    planned: Plan
    attached: Attachments
    editable: tuple[EditableCall, ...]
    """The calls that people may change."""
    other_accounts: tuple[OtherAccount, ...]
    """The rules at each other account of the agent's owner."""


@dataclass(frozen=True, slots=True)
class SubmissionReader:
    """Reads submissions, and finds every problem in them."""

    commits: ChangeCommitter
    """Knows the surfaces and the rules."""
    known_surfaces: frozenset[str]
    """The names of all existing surfaces, configured or not."""
    routes: Routes
    check_callback: Callable[[str, Agent | None], str | None]
    """Returns None if a callback may be sent for an agent, else the reason why not."""
    files: Files
    parse_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self, body: Submission, agent: Agent | None, hook: str | None) -> ReadSubmission:
        """Read a submission.

        Raises:
            InvalidCallError: with all errors of the call, its envelope and its files.
        """
        parsed = await self._parse(body)
        dialect = parsed.dialect or ("" if body.dialect is None else body.dialect)
        known = self.known_surfaces | self.commits.surfaces.keys()
        planned = plan(body, self.routes, known, agent, hook, is_up=self.commits.is_up)
        if isinstance(planned, Plan):
            planned = self._place(planned)
        problems = [] if isinstance(planned, Plan) else [*planned]
        if body.callback is not None and (refusal := self.check_callback(body.callback.url, agent)):
            problems.append(Problem(pointer="/callback/url", code="unknown_value", message=refusal))
        problems += self._check_enabled(body, dialect)
        attached: Attachments | tuple[Problem, ...] = NO_ATTACHMENTS
        files = body.files
        if dialect == APPROVAL and any(each.folder for each in files):
            problems.append(_NO_FOLDER)
        if isinstance(planned, Plan) and planned.is_open_to_anyone:
            files = tuple(each for each in files if not each.folder)
        if files:
            attached = await self.files.read(files, name_of(agent))
        if not isinstance(attached, Attachments):
            problems += attached
        if isinstance(parsed, InvalidCallError):
            raise InvalidCallError(parsed.tool, [*parsed.problems, *problems], parsed.dialect)
        if problems or not (isinstance(planned, Plan) and isinstance(attached, Attachments)):
            raise InvalidCallError(body.name[:100], problems, dialect)
        editable = await self._editable(body, parsed, planned)
        other_accounts = self._plan_other_accounts(body, agent, hook, planned)
        return ReadSubmission(parsed, planned, attached, editable, other_accounts)

    def _place(self, planned: Plan) -> Plan | tuple[Problem, ...]:
        """Return the plan with those who may act: by the call or route, else by the surface; or what is wrong there."""
        to, surfaces, people = planned.destination, self.commits.surfaces, self.routes.people
        surface = surfaces.get(to.surface)
        # In a direct message, other people who are listed do not see it, but it can be handed over to them.
        if to.user is not None:
            allowed = planned.allowed_recipients or planned.responders
            planned = replace(planned, responders=(to.user,), allowed_recipients=allowed)
            if planned.is_to_owner and surface is not None and not surface.live:
                to = Destination(surface=to.surface)  # a page has no direct messages
                planned = replace(planned, destination=to)
        if (
            surface is None
        ):  # if no person has to answer, none is needed: see `answerback.service.submit`
            return (
                planned
                if planned.confirmation is None
                else (unknown_surface(to.surface, surfaces),)
            )
        if (wrong := surface.destination_problem(to)) is not None:
            return (Problem(pointer="/to", code="unknown_route", message=wrong),)
        default = normalize_responders(surface.default_responders(to), to.surface, people)
        if responders := planned.responders or default:
            planned = replace(planned, responders=responders)
            if planned.escalation is not None or _has_place_groups(surface):
                named = name_place_groups(planned, surfaces)
                if isinstance(named, Problem):
                    return (named,)
                planned = named
            if planned.confirmation is None:
                return planned
            problem = find_confirmation_problem(
                planned.confirmation,
                planned.confirmers,
                planned.responders or (),
                to,
                people,
                planned.confirmers_elsewhere,
            )
            return (problem,) if problem else planned
        message = (
            "No responders are set for this destination. Add responders to the call, to its route "
            f"(routes.<name>.responders) or to the surface ({surface.name}.responders): user ids, "
            '"@id" for a group or role, or "anyone".'
        )
        return (Problem(pointer="/responders", code="responders_required", message=message),)

    def _plan_other_accounts(
        self, body: Submission, agent: Agent | None, hook: str | None, planned: Plan
    ) -> tuple[OtherAccount, ...]:
        """Return what holds at each other account of the agent's owner, without those where the ask cannot be."""
        if not planned.other_accounts:
            return ()
        surfaces = self.commits.surfaces
        known = self.known_surfaces | surfaces.keys()
        places = [each for each in planned.other_accounts if each.surface in surfaces]
        found: list[OtherAccount] = []
        for place in places:
            other = plan(body, self.routes, known, agent, hook, self.commits.is_up, account=place)
            there = self._place(other) if isinstance(other, Plan) else other
            if isinstance(there, Plan):
                found.append(
                    OtherAccount(
                        destination=there.destination,
                        responders=there.responders or (),
                        confirmers=there.confirmers,
                        confirmers_elsewhere=there.confirmers_elsewhere,
                        allowed_recipients=there.allowed_recipients,
                        escalation=there.escalation,
                    )
                )
        return tuple(found)

    async def _parse(self, body: Submission) -> ParsedCall | InvalidCallError:
        """Parse a call, a slow one in a thread, one at a time; returns the error that says what is wrong with it."""
        try:
            return await self._in_turn(body, lambda: _parse_call(body))
        except InvalidCallError as error:
            return error

    async def _editable(
        self, body: Submission, parsed: ParsedCall, planned: Plan
    ) -> tuple[EditableCall, ...]:
        """Return the calls that people may change."""
        if not (body.takes_edited and planned.edit and parsed.dialect == APPROVAL):
            return ()
        return await self._in_turn(body, lambda: editable_calls(body.name, parsed.arguments))

    async def _in_turn(self, body: Submission, read: Callable[[], _Read]) -> _Read:
        """Read a call, a slow one in a thread, one at a time."""
        if registry.is_quick_to_parse(body.arguments):
            return read()
        async with self.parse_lock:
            return await asyncio.to_thread(read)

    def _check_enabled(self, body: Submission, dialect: str) -> list[Problem]:
        tool = body.arguments.get("tool")
        asking = tool if dialect == "tool_question" and isinstance(tool, str) else None
        rules = self.commits.rules
        key = rules.disabling_key(dialect, body.name, asking) if rules.tools else None
        if key is None:
            return []
        message = f'The tool "{body.name}" is switched off here ({key} is false). Do not call it.'
        return [Problem(pointer="/name", code="unknown_value", message=message)]


def _parse_call(body: Submission) -> ParsedCall:
    parsed = registry.parse_call(body.name, body.arguments, body.dialect)
    if body.is_rewritten and parsed.dialect == APPROVAL:
        # People decide on a number as the host wrote it: rounded, it may be another.
        return registry.parse_call(body.name, body.written_arguments, body.dialect)
    return parsed


def _has_place_groups(surface: Surface | None) -> TypeGuard[SupportsPlaceGroups]:
    """Return True if a surface has groups that are other ones at each place."""
    # Unlike isinstance, which compares all names of a protocol each time in Python 3.11, this remembers its result.
    return issubclass(type(surface), SupportsPlaceGroups)


def name_place_groups(planned: Plan, surfaces: Mapping[str, Surface]) -> Plan | Problem:
    """Return a plan in which groups that are other ones at each place, such as a chat's administrators, name theirs.

    A problem, if nobody is left of those who may answer or confirm.
    """
    here, escalation = planned.destination, planned.escalation
    nobody: list[str] = []

    def named(who: tuple[str, ...], place: Destination) -> tuple[str, ...]:
        surface = surfaces.get(place.surface)
        if not _has_place_groups(surface):
            return who
        found = surface.name_groups(who, place)
        nobody.extend(who if not found else ())
        return found

    if escalation is not None:
        there = escalation.to or here
        later = {
            "responders": named(escalation.responders, there),
            "confirmers": named(escalation.confirmers, there),
        }
        escalation = escalation.model_copy(update=later)
    named_here = replace(
        planned,
        responders=planned.responders and named(planned.responders, here),
        confirmers=named(planned.confirmers, here),
        escalation=escalation,
    )
    if nobody:
        message = (
            f"Nobody could act: a direct message has no {', '.join(dict.fromkeys(nobody))}. Name people by their ids, "
            "or ask in a group."
        )
        return Problem(pointer="/responders", code="responders_required", message=message)
    return replace(
        named_here,
        allowed_recipients=planned.allowed_recipients and named(planned.allowed_recipients, here),
    )

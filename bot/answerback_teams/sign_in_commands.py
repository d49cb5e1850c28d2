"""``/answerback connect CODE`` and ``/answerback agents``: people connect and remove their agents in a chat."""

from __future__ import annotations

from typing import Final

from answerback.core.labels import Labels
from answerback.ports.commands import Command, CommandAnswer, CommandButton, CommandUse
from answerback_teams.sign_in_text import (
    agent_row,
    decided_text,
    refusal_text,
    request_lines,
)
from answerback_teams.sign_ins import SignIns
from answerback_teams.values import SignIn, SignInRefusal, SignInState

CONNECT: Final = "connect"
AGENTS: Final = "agents"
_APPROVE: Final = "approve"
_DENY: Final = "deny"
_REMOVE: Final = "remove"
MAX_LISTED: Final = 10
"""Agents that are listed with a button; others are removed on the page."""


def listed_commands(labels: Labels) -> tuple[Command, Command]:
    return Command(CONNECT, labels.connect_about, "code"), Command(AGENTS, labels.agents_about)


def sign_in_commands(sign_ins: SignIns, labels: Labels) -> tuple[Command, ...]:
    commands, (connect, agents) = _Commands(sign_ins, labels), listed_commands(labels)
    return connect._replace(answer=commands.connect), agents._replace(answer=commands.agents)


class _Commands:
    def __init__(self, sign_ins: SignIns, labels: Labels) -> None:
        self._sign_ins, self._labels = sign_ins, labels

    async def connect(self, use: CommandUse) -> CommandAnswer:
        """Show who asks by a code. Only the buttons below decide: what is typed may not have been read."""
        *parts, last = use.text.split()
        decision = last if last in {_APPROVE, _DENY} else None
        typed = "".join(parts if decision else [*parts, last])
        code = "".join(each for each in typed if each.isascii() and each.isalpha())
        if use.pressed and decision:
            is_approved = decision == _APPROVE
            found = await self._sign_ins.decide(code, use.person, approve=is_approved)
        else:
            found = await self._sign_ins.look_up(code, use.person)
        return self._answer(code, found)

    def _answer(self, code: str, found: SignIn | SignInRefusal) -> CommandAnswer:
        labels = self._labels
        if isinstance(found, SignInRefusal):
            return CommandAnswer(refusal_text(found, labels))
        if found.state is not SignInState.PENDING:
            return CommandAnswer(decided_text(found, labels))
        texts = "\n".join(request_lines(found, self._sign_ins.terms(), labels))
        decisions = ((labels.approve, _APPROVE), (labels.deny, _DENY))
        buttons = [CommandButton(text, f"{CONNECT} {code} {each}") for text, each in decisions]
        return CommandAnswer(texts, tuple(buttons))

    async def agents(self, use: CommandUse) -> CommandAnswer:
        """List the person's agents, each with a button that removes it."""
        what, _, suffix = use.text.partition(" ")
        found = await self._sign_ins.list_for(use.person)
        if what == _REMOVE and use.pressed:
            for agent in found:
                if agent.name.endswith(f"-{suffix}"):
                    await self._sign_ins.remove(agent.name, use.person)
            found = await self._sign_ins.list_for(use.person)
        rows = [agent_row(each, self._labels) for each in found]
        buttons = [
            CommandButton(
                f"{self._labels.remove} {each.name}",
                f"{AGENTS} {_REMOVE} {each.name.rpartition('-')[2]}",
            )
            for each in found[:MAX_LISTED]
        ]
        return CommandAnswer("\n".join(rows) or self._labels.agents_none, tuple(buttons))

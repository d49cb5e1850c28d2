"""One run of a hook: the event of a host in, its answer out."""

from __future__ import annotations

from typing import Final

from answerback.agents.command_hooks import claude, codex, copilot, gemini
from answerback.agents.command_hooks.agent_host import Host, Json
from answerback.agents.command_hooks.ask_people import AskClient

HOSTS: Final[dict[str, Host]] = {
    "claude": claude.HOST,
    "codex": codex.HOST,
    "gemini": gemini.HOST,
    "copilot": copilot.HOST,
}
"""The hosts that run hooks as commands."""


def handle_event(agent: str, event: Json, people: AskClient) -> Json | None:
    """What a host is answered; None for an event that is none of ours, which is left to the host."""
    host = HOSTS[agent]
    if (told := host.immediate_answer(event)) is not None:
        return told
    call = host.call(event)
    if call is not None:
        return host.answer(event, people.ask(call))
    conversation = host.conversation(event)
    words = None if conversation is None else people.fetch_late_answers(conversation)
    return None if words is None else host.tell_model(event, words)

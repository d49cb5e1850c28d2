"""A run of a hook: turns an event from a host into the host's answer."""

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
"""The hosts that run commands as hooks."""


def handle_event(agent: str, event: Json, people: AskClient) -> Json | None:
    """Handle an event; returns the host's answer, or None if the event does not concern people."""
    host = HOSTS[agent]
    if (answer := host.immediate_answer(event)) is not None:
        return answer
    call = host.call(event)
    if call is not None:
        return host.answer(event, people.ask(call))
    conversation = host.conversation(event)
    words = None if conversation is None else people.fetch_late_answers(conversation)
    return None if words is None else host.tell_model(event, words)

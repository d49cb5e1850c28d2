"""The texts about a program that wants to become a person's agent, and about the agents that they have. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from answerback.core.labels import Labels
from answerback_teams.values import AgentToken, SignIn, SignInRefusal, SignInState


def request_lines(sign_in: SignIn, terms: tuple[float, str], labels: Labels) -> list[str]:
    """Return who asks for what, line by line; the last line warns."""
    asked_by, (days, route) = sign_in.asked_by, terms
    address = labels.connect_address
    if asked_by.is_reported:
        address = labels.connect_address_reported
    return [
        labels.connect_program.format(program=asked_by.program),
        labels.connect_machine.format(machine=asked_by.machine),
        address.format(address=asked_by.address),
        labels.connect_terms.format(route=route, days=f"{days:g}"),
        labels.connect_warning,
    ]


def decided_text(sign_in: SignIn, labels: Labels) -> str:
    """Return what became of a sign-in that was approved or denied."""
    is_approved = sign_in.state is SignInState.APPROVED
    label = labels.connect_approved if is_approved else labels.connect_denied
    return label.format(program=sign_in.asked_by.program)


def refusal_text(refusal: SignInRefusal, labels: Labels) -> str:
    """Return why a person cannot decide."""
    texts = {
        SignInRefusal.FORBIDDEN: labels.connect_forbidden,
        SignInRefusal.OPERATOR: labels.connect_operator,
        SignInRefusal.UNSURE: labels.connect_unsure,
        SignInRefusal.TOO_OFTEN: labels.connect_too_often,
        SignInRefusal.UNKNOWN: labels.connect_unknown,
        SignInRefusal.FULL: labels.connect_full,
    }
    return texts[refusal]


def agent_row(agent: AgentToken, labels: Labels) -> str:
    """Return an agent in a line: its name, what it said of itself, and until when it may ask."""
    by = agent.asked_by
    return labels.agent_row.format(
        name=agent.name,
        program=by.program,
        machine=by.machine,
        address=by.address,
        date=datetime.fromtimestamp(agent.until, UTC).strftime("%Y-%m-%d"),
    )

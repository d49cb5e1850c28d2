"""Who may answer and who answered, as the page shows it. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup, escape

from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.core.view import View
from answerback.core.walker import Person
from answerback_chat import attribution, wording
from answerback_chat.attribution import AttributionFormat
from answerback_chat.sanitize import one_line, visible


def audience_line(view: View, surface: str, labels: Labels) -> Markup:
    """Who may answer and until when; empty where there is nothing to say.

    Args:
        surface: where the ask is put, which says what the ids of its responders are.
    """

    def responder(who: str) -> str | None:
        name = attribution.responder_name(surface, who)
        return None if name is None else _isolated(name)

    marks = AttributionFormat(
        lambda words: str(escape(words)), responder, _person, lambda at: str(time(at))
    )
    said = attribution.audience_line(view.responders, view.closes_at, labels, marks)
    return Markup(said)


def byline(person: Person | None, labels: Labels) -> str | None:
    """Who did something; None where no person did."""
    return labels.by.format(name=name_with_proof(person, labels)) if person else None


def name_with_proof(person: Person, labels: Labels) -> str:
    """A person's name, and how it is known where no platform says it."""
    name = visible(wording.display_name(person))
    known = {
        AuthMethod.KEY: labels.known_key,
        AuthMethod.LINK: labels.known_link,
        AuthMethod.PROXY: labels.known_proxy,
        None: None,
    }[person.known]
    return f"{name} ({known})" if known else name


def time(at: float) -> Markup:
    """A time, which the page's script shows on the reader's own clock."""
    moment = datetime.fromtimestamp(at, UTC)
    said = moment.strftime("%Y-%m-%d %H:%M UTC")
    machine = moment.isoformat(timespec="seconds")
    return Markup('<time class="local" datetime="{}">{}</time>').format(machine, said)


def _person(person: Person) -> str:
    return _isolated(wording.display_name(person))


def _isolated(name: str) -> str:
    """A name in text of ours, whose direction is its own."""
    return str(Markup("<bdi>{}</bdi>").format(one_line(name)))

"""Who may answer and who answered, as HTML for the page. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.core.view import View
from answerback.core.walker import Person
from answerback.ports.person_key import is_operator
from answerback.presentation import attribution, wording
from answerback.presentation.attribution import AttributionFormat
from answerback_base.sanitize import one_line, visible

_SURFACE: Final = "web"


def audience_line(view: View, surface: str, labels: Labels) -> Markup:
    """Return who may answer and until when; empty if there is nothing to show.

    Args:
        surface: the ask's surface, which determines what its responders' ids mean.
    """

    marks = _html_format(surface, labels)
    line = attribution.audience_line(
        view.responders, view.closes_at, labels, marks, view.handed_over
    )
    return Markup(line)


def _html_format(surface: str, labels: Labels) -> AttributionFormat:
    def responder(who: str) -> str | None:
        name = attribution.responder_name(surface, who)
        return None if name is None else _isolate(name)

    return AttributionFormat(
        lambda text: str(escape(text)),
        responder,
        lambda person: _isolate(_name(person, labels)),
        lambda at: str(time(at)),
    )


def confirmed_by(view: View, labels: Labels) -> Markup:
    """Return who has confirmed the answers; empty if nobody has."""
    return Markup(attribution.confirmed_by_line(view, labels, _html_format(_SURFACE, labels)))


def ended(view: View, labels: Labels) -> Markup:
    """Return how an ask ended and by whom; empty while it is open."""
    return Markup(wording.ending_with_person(view, labels, _ending_format(labels)))


def collected(view: View, labels: Labels) -> Markup:
    """Return whether its agent knows how an ask ended; empty while it is open."""
    return Markup(attribution.collected_line(view, labels, _ending_format(labels), due=True))


def _ending_format(labels: Labels) -> AttributionFormat:
    return AttributionFormat(
        lambda text: str(escape(visible(text))),
        lambda _: None,
        lambda person: str(Markup("<bdi>{}</bdi>").format(name_with_proof(person, labels))),
        lambda at: str(time(at)),
        lambda at: str(_time(at, "local clock", attribution.utc_clock(at))),
    )


def byline(person: Person | None, labels: Labels) -> str | None:
    """Return who did something; None if no person did."""
    return labels.by.format(name=name_with_proof(person, labels)) if person else None


def plain_format(labels: Labels) -> AttributionFormat:
    """Return the format of sentences about people as plain text. A chat platform's ids would mean nothing here."""
    return AttributionFormat(
        str,
        lambda _: None,
        lambda person: name_with_proof(person, labels),
        lambda at: str(time(at)),
    )


def name_with_proof(person: Person, labels: Labels) -> str:
    """Return a person's name and, if no platform vouches for it, how it is known."""
    name = visible(_name(person, labels))
    if is_operator(person):
        return name  # the name says how it is known
    known = {
        AuthMethod.KEY: labels.known_key,
        AuthMethod.LINK: labels.known_link,
        AuthMethod.PROXY: labels.known_proxy,
        AuthMethod.OIDC: labels.known_proxy,
        None: None,
    }[person.known]
    return f"{name} ({known})" if known else name


def _name(person: Person, labels: Labels) -> str:
    """Return a person's name, if only by their id here: the ids of other surfaces would mean nothing."""
    return person.name or (person.user_id if person.surface == _SURFACE else labels.somebody)


def time(at: float) -> Markup:
    """Return a time, which the page's script converts to the reader's time zone."""
    return _time(at, "local", attribution.utc_time(at))


def _time(at: float, css: str, text: str) -> Markup:
    return Markup('<time class="{}" datetime="{}">{}</time>').format(css, iso(at), text)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _isolate(name: str) -> str:
    """Isolate a name in our text, so that it keeps its own text direction."""
    return str(Markup("<bdi>{}</bdi>").format(one_line(name)))

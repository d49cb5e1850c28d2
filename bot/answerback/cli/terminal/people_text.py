"""Who may answer an ask and until when, and who answered, as text for the terminal. Pure: the API's JSON → words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.presentation import attribution
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.sanitize import one_line, visible


def audience(ask: Mapping[str, JsonValue], labels: Labels) -> str:
    """Who may answer (by name if the id is a name) and until when; empty if there is nothing to say."""
    listed = ask["responders"]
    responders = [who for who in listed if isinstance(who, str)] if isinstance(listed, list) else []
    marks = AttributionFormat(
        visible,  # keeps the blanks around a name
        lambda who: attribution.responder_name(str(ask["surface"]), who),
        _person,
        format_local_time,
    )
    closes = ask["expires_at"]
    until = datetime.fromisoformat(closes).timestamp() if isinstance(closes, str) else None
    return attribution.audience_line(responders, until, labels, marks)


def describe_answerer(line: Mapping[str, JsonValue], labels: Labels) -> str:
    """Who gave an answer and when; empty if no person did."""
    by, at = line["by"], line["at"]
    if not isinstance(by, dict):
        return ""
    answered_by = labels.by.format(name=one_line(str(by.get("name") or labels.somebody)))
    when = (
        f", {format_local_time(datetime.fromisoformat(at).timestamp())}"
        if isinstance(at, str)
        else ""
    )
    return f"{answered_by}{when}"


def format_local_time(at: float) -> str:
    """Format a timestamp in this machine's time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _person(person: Person) -> str:
    raise AssertionError(f"responders are named by their ids, and not as {person}")

"""Who may answer an ask and until when, and who answered, as text for the terminal. Pure: the API's JSON → words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.placement import HandedOver
from answerback.core.walker import Person
from answerback.presentation import attribution
from answerback.presentation.attribution import AttributionFormat
from answerback_agents.cli.ask_output import format_local_time, get_dicts, local_time
from answerback_base.sanitize import one_line, visible


def audience(ask: Mapping[str, JsonValue], labels: Labels) -> str:
    """Return who may answer (by name if the id is a name) and until when; empty if there is nothing to say."""
    prompt = ask["prompt"]
    confirming = isinstance(prompt, dict) and prompt["kind"] == "confirmation"
    listed = None if confirming else ask["responders"]
    responders = [who for who in listed if isinstance(who, str)] if isinstance(listed, list) else []
    marks = AttributionFormat(
        visible,  # keeps the blanks around a name
        lambda who: attribution.responder_name(str(ask["surface"]), who),
        _person,
        format_local_time,
    )
    closes = ask["expires_at"]
    until = datetime.fromisoformat(closes).timestamp() if isinstance(closes, str) else None
    return attribution.audience_line(responders, until, labels, marks, _handed_over(ask))


def _handed_over(ask: Mapping[str, JsonValue]) -> HandedOver | None:
    handed = ask.get("handed_over")
    if not isinstance(handed, dict):
        return None
    by, to = (
        Person(
            surface=str(each["surface"]),
            user_id=str(each["user_id"]),
            name=None if each["name"] is None else str(each["name"]),
        )
        for each in (handed["by"], handed["to"])
        if isinstance(each, dict)
    )
    return HandedOver(by=by, to=to)


def title(ask: Mapping[str, JsonValue], prompt: Mapping[str, JsonValue], labels: Labels) -> str:
    """The title of a prompt: the question, or what to do with all answers."""
    match prompt["kind"]:
        case "review":
            return labels.review_title
        case "confirmation":
            return f"{labels.confirm_title} {ask['headline']}"
        case _:
            return str(prompt["text"])


def confirmations(prompt: Mapping[str, JsonValue], labels: Labels) -> list[str]:
    """Return the lines that say how many people have to confirm yet, and who has."""
    value = prompt["confirmations"]
    state = value if isinstance(value, dict) else {}
    people = get_dicts(state, "given")
    missing = int(str(state.get("due", 0))) - len(people)
    text = labels.confirm_text if missing == 1 else labels.confirm_more.format(count=missing)
    names = ", ".join(one_line(str(each.get("name") or labels.somebody)) for each in people)
    return [text, *([labels.confirmed_by.format(who=names)] if names else [])]


def describe_answerer(line: Mapping[str, JsonValue], labels: Labels) -> str:
    """Return who gave an answer and when; empty if no person did."""
    by, at = line["by"], line["at"]
    if not isinstance(by, dict):
        return ""
    answered_by = labels.by.format(name=one_line(str(by.get("name") or labels.somebody)))
    return f"{answered_by}, {local_time(at)}" if at else answered_by


def _person(person: Person) -> str:
    return one_line(person.name or person.user_id)

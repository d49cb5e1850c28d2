"""The contents of the receipt of an ask that has ended, and the texts that stand beside it.

Everything that an erasure deletes is in the signed payload only as a salted digest, with the text beside, so that a
receipt can still be checked after the text is gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, headline_of
from answerback.core.canonical_json import canonical, digest, is_digest
from answerback.core.edited_call import digest_of
from answerback.core.editing import difference_of, written_edit
from answerback.core.form import AnswerType, Question
from answerback.core.person import AuthMethod
from answerback.core.sent_files import sent_files
from answerback.core.walker import GivenAnswer, Person, Source
from answerback.presentation.text_fitting import utf16_length
from answerback.service.people_wire import iso
from answerback_base.headline_text import SHORTENED
from answerback_base.sanitize import visible

JsonObject = dict[str, JsonValue]
VERSION: Final = 3
"""The version of the payload and of what is beside it. A change that a reader could notice needs another."""
VERSIONS: Final = (1, 2, VERSION)
"""The versions that can be checked. The first two had the arguments as they were read. The first had the owner in the
clear, and named where an ask was sent as where it was decided; its view told only whether the headline was
shortened."""
WHOLE_UNITS: Final = 1_000
"""UTF-16 units of a question, with context and labels, of which every chat's message certainly shows all."""
WHOLE_LINES: Final = 40
"""Lines of a context of which a message certainly shows all."""
WHOLE_OPTIONS: Final = 10
WHOLE_LABEL: Final = 70
"""UTF-16 units of a label that a button certainly shows in full."""
_IN_THE_CLEAR: Final = {AnswerType.BOOLEAN, AnswerType.SELECT, AnswerType.MULTI_SELECT}
_SALT_BYTES: Final = 16


class _Hidden:
    """Texts that are in the payload only as digests."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self.disclosed: dict[str, list[JsonValue]] = {}
        """The salt and the text, by digest."""

    def add(self, name: str, value: JsonValue) -> str:
        """Return the digest that stands for a text."""
        salt = hashlib.blake2b(name.encode(), key=self._salt, digest_size=_SALT_BYTES)
        beside: list[JsonValue] = [salt.hexdigest(), value]
        key = digest(canonical(beside))
        self.disclosed[key] = beside
        return key


def payload_of(
    ask: Ask, salt: bytes, service_id: str, opaque: Collection[str], version: int = VERSION
) -> tuple[JsonObject, dict[str, list[JsonValue]]]:
    """Return what a receipt says of an ended ask, and by digest the salts and texts that are beside it.

    Args:
        salt: that from which the salt of each text is derived.
        opaque: the surfaces whose ids do not reveal who a person is: chats.
    """
    outcome, request, hidden = ask.outcome, ask.request, _Hidden(salt)
    if outcome is None:
        raise AssertionError(f"{ask.id} is open, so there is no receipt of it")
    shown_headline, owner = headline_of(ask.form), request.origin.owner
    surface = ask.placement.destination.surface if version == 1 else _decided_on(outcome.ended_by)
    in_chat = version > 1 and surface in opaque
    payload: JsonObject = {
        "version": version,
        "service_id": service_id,
        "ask_id": ask.id,
        "dialect": request.dialect,
        "agent": request.agent,
        "owner": owner if owner is None or version == 1 else hidden.add("owner", owner),
        "headline": hidden.add("headline", shown_headline),
        "arguments": hidden.add(
            "arguments", request.arguments if version < VERSION else request.as_sent
        ),
        "view": {
            "digest": hidden.add("view", _view(ask, shown_headline, in_chat=in_chat)),
            "revision": _decided_revision(ask),
            "surface": surface,
        },
        "answers": {name: _answer(ask, given, hidden) for name, given in _given(ask)},
        "notes": {
            name: hidden.add(f"note/{name}", given.note)
            for name, given in _given(ask)
            if given.note is not None
        },
        "decisions": {
            name: kind.value for name, kind in ask.form.kinds_of(ask.walk.values).items()
        },
        "reply": None if ask.walk.reply is None else hidden.add("reply", ask.walk.reply),
        "answered_by": _by(ask, hidden, opaque),
        "confirmed_by": [
            {"by": _person(vote.by, hidden, opaque), "at": iso(vote.at)} for vote in ask.walk.votes
        ],
        "ended_by": _person(outcome.ended_by, hidden, opaque),
        "strength": strength_of(ask),
        "asked_at": iso(ask.created_at),
        "ended_at": iso(outcome.at),
        "status": outcome.status.value,
        "source": outcome.source and outcome.source.value,
        "reason": outcome.reason and outcome.reason.value,
        "gave_up": outcome.gave_up and outcome.gave_up.value,
    }
    if request.editable and (written := written_edit(ask)) is not None:
        payload["edited"] = {
            "arguments": hidden.add("edited", written),
            "digest": hidden.add("edited/digest", digest_of(written)),
            "difference": hidden.add("edited/difference", difference_of(ask)),
        }
    if request.files:
        payload["files"] = [
            hidden.add(f"file/{n}", {"sha256": each.sha256, "name": each.name, "alt": each.alt})
            for n, each in enumerate(request.files)
        ]
    if ask.walk.file_ids:
        payload["answer_files"] = [
            hidden.add(
                f"answer_file/{n}",
                {
                    "question": each.question_id,
                    "sha256": each.file.sha256,
                    "name": each.file.name,
                },
            )
            for n, each in enumerate(sent_files(ask.walk))
        ]
    if (note := ask.grant) is not None:
        payload["grant"] = {
            "id": note.id,
            "by": _person(note.by, hidden, opaque),
            "use": note.number or None,
            "uses": note.uses,
            "expires_at": iso(note.until),
        }
    return payload, hidden.disclosed


def _given(ask: Ask) -> Iterator[tuple[str, GivenAnswer]]:
    return ((given.question_id, given) for given in ask.walk.answers)


def _decided_revision(ask: Ask) -> int:
    """Return the revision that was shown when the ask was decided."""
    acted = ask.outcome is not None and ask.outcome.ended_by is not None
    return (ask.last_action_revision if acted and ask.last_action_revision else ask.revision) - 1


def _decided_on(person: Person | None) -> str | None:
    """Return where an ask was shown to who decided it; None if nobody did, or a front end showed it."""
    return None if person is None or person.via is not None else person.surface


def _view(ask: Ask, shown_headline: str, *, in_chat: bool) -> JsonObject:
    """Return what was shown when the ask was decided: the questions that were answered, and the one it ended at."""
    answered = {given.question_id for given in ask.walk.answers}
    questions = ask.form.questions
    last = None if ask.walk.at is None else questions[ask.walk.at].id
    cut: list[JsonValue] = ["headline"] if shown_headline.endswith(SHORTENED) else []
    shown = [each for each in questions if each.id in {*answered, last}]
    if in_chat:
        cut += [f"questions/{n}" for n, each in enumerate(shown) if not is_certainly_whole(each)]
    return {"headline": shown_headline, "questions": [*map(_question, shown)], "cut": cut}


def is_certainly_whole(question: Question) -> bool:
    """Return True if every chat shows all of a question in its message, without any button for more."""
    context, labels = question.context or "", [option.label for option in question.options]
    return (
        len(labels) <= WHOLE_OPTIONS
        and all(_units(label) <= WHOLE_LABEL for label in labels)
        and context.count("\n") < WHOLE_LINES
        and _units("".join((question.text, context, *labels))) <= WHOLE_UNITS
    )


def _units(text: str) -> int:
    """Return how long a text is as chats show it. One that is too long anyway costs a click nothing."""
    return len(text) if len(text) > WHOLE_UNITS else utf16_length(visible(text))


def _question(question: Question) -> JsonObject:
    return {
        "id": question.id,
        "text": question.text,
        "context": question.context,
        "labels": [option.label for option in question.options],
    }


def _answer(ask: Ask, given: GivenAnswer, hidden: _Hidden) -> JsonValue:
    """Return the value of a choice; anything that a person wrote, or that looks like a digest, only as a digest."""
    value, name = given.value, f"answer/{given.question_id}"
    question = ask.form.question(given.question_id)
    is_choice = question is not None and question.answer_type in _IN_THE_CLEAR
    chosen = value if isinstance(value, list) else [value]
    if any(map(is_digest, chosen[:-1] if given.other else chosen)):
        return hidden.add(name, value)
    if given.other and isinstance(value, list):
        return [*value[:-1], hidden.add(name, value[-1])]
    return value if value is None or (is_choice and not given.other) else hidden.add(name, value)


def _by(ask: Ask, hidden: _Hidden, opaque: Collection[str]) -> JsonObject:
    """Return by question id who answered it, when, and where the answer came from."""
    return {
        name: {
            "source": given.source.value,
            "by": _person(given.by, hidden, opaque),
            "at": None if given.at is None else iso(given.at),
        }
        for name, given in _given(ask)
    }


def _person(person: Person | None, hidden: _Hidden, opaque: Collection[str]) -> JsonValue:
    if person is None:
        return None
    name = f"person/{person.surface}/{person.user_id}"
    is_clear = person.surface in opaque
    return {
        "surface": person.surface,
        "user_id": person.user_id if is_clear else hidden.add(name, person.user_id),
        "known": person.known and person.known.value,
        "via": person.via,
    }


def strength_of(ask: Ask) -> str | None:
    """Return how well it is known who decided, by the person who is known least; None if nobody did."""
    people = [given.by for given in ask.walk.answers if given.source is Source.HUMAN]
    people += [vote.by for vote in ask.walk.votes]
    people.append(None if ask.grant is None else ask.grant.by)
    people.append(None if ask.outcome is None else ask.outcome.ended_by)
    found = {_strength(person) for person in people if person is not None}
    return next((each for each in ("vouched", "links", "accounts") if each in found), None)


def _strength(person: Person) -> str:
    if person.via is not None:
        return "vouched"
    return "links" if person.known in {AuthMethod.LINK, AuthMethod.KEY} else "accounts"


def surfaces_in_the_clear(payload: JsonObject) -> set[str]:
    """Return the surfaces whose people a payload names by their ids."""
    found: set[str] = set()

    def collect(value: JsonValue) -> None:
        if isinstance(value, dict) and "user_id" in value:
            if not is_digest(value["user_id"]):
                found.add(str(value["surface"]))
        elif isinstance(value, (dict, list)):
            for member in value.values() if isinstance(value, dict) else value:
                collect(member)

    for name in ("answered_by", "confirmed_by", "ended_by", "grant"):
        collect(payload.get(name))
    return found

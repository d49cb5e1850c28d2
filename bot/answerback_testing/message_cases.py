"""Asks in every state that a message can show: each kind of prompt, each phase, and each part that may be cut.

The list is the same for every surface, so that their renderings can be compared and held by snapshots:
`for name, ask in KINDS.items(): plugin.preview(ask, Labels())`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.asides import Aside
from answerback.core.ask import Ask, Change, Destination, Reason, Request, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Option, OptionKind, Persistence, Question
from answerback.core.giving_up import GaveUp, TriedAgain
from answerback.core.grants import GrantNote, GrantOffer, Match
from answerback.core.walker import Person, Source, start
from answerback_testing.example_asks import build_ask, with_values

_ASKED_AT: Final = 1_700_000_000.0
ADA: Final = Person(surface="web", user_id="Ada", name="Ada")
BOB: Final = Person(surface="web", user_id="Bob", name="Bob")
_MARKDOWN: Final = """## What changes

The table **invoices** gets `paid_at`, see [the plan](https://example.com/plan):

1. lock
2. run, *slowly*

- watch ~~nothing~~ the lag

> Careful: @here <!channel> #general

| column | type |
|---|--:|
| id | int |
| paid_at | timestamp |

```diff
-ALTER TABLE a;
+ALTER TABLE b;
```

---

Done."""
_FLAT: Final[dict[str, JsonValue]] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "title": "Title"},
        "severity": {"enum": ["low", "high"]},
        "teams": {"type": "array", "items": {"enum": ["api", "web", "data"]}},
        "urgent": {"type": "boolean"},
        "since": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 1},
    },
}
_TREE: Final[dict[str, JsonValue]] = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "integer"}},
}


def _question(kind: AnswerType, **fields: Any) -> Question:
    return Question.model_validate({"id": "q", "text": "Which one?", "answer_type": kind, **fields})


def _options(count: int, label: str = "Option {n}", **texts: str) -> tuple[Option, ...]:
    return tuple(
        Option.model_validate(
            {
                "value": f"v{n}",
                "label": label.format(n=n),
                **{name: text.format(n=n) for name, text in texts.items()},
            }
        )
        for n in range(1, count + 1)
    )


def _asked(form: Form, request: Mapping[str, Any] | None = None, **fields: Any) -> Ask:
    """Return an open ask at its first question."""
    sent: dict[str, Any] = {"name": "ask_user", "dialect": "ask_user", "arguments": {}}
    values: dict[str, Any] = {
        "id": "ask_1",
        "created_at": _ASKED_AT,
        "updated_at": _ASKED_AT,
        "request": Request(form=form, **(sent | dict(request or {}))),
        "destination": Destination(surface="web"),
        "responders": ("anyone",),
        "walk": start(form),
    }
    return build_ask(values | fields)


def _alone(kind: AnswerType, **fields: Any) -> Ask:
    """Return an ask with one question."""
    return _asked(Form(questions=(_question(kind, **fields),)))


def _after(ask: Ask, *actions: Action, by: Person | None = ADA, wait: float = 60) -> Ask:
    """Return the ask after actions, each of which must be valid."""
    for action in actions:
        change = asks.apply_action(ask, action, at=ask.updated_at + wait, by=by)
        assert isinstance(change, Change), change
        ask = change.ask
    return ask


def _ended(ask: Ask, status: Status, reason: Reason, **fields: Any) -> Ask:
    """Return the ask ended by nobody in particular."""
    return asks.end_ask(ask, status, at=ask.updated_at + 3_600, reason=reason, **fields).ask


def _long(text: str, times: int = 700) -> str:
    return " ".join(f"{text} {n}." for n in range(times))


# --- each kind of prompt -------------------------------------------------------------------------

_BOOLEAN, _SELECT, _MULTI = AnswerType.BOOLEAN, AnswerType.SELECT, AnswerType.MULTI_SELECT
_TEXT, _SCHEMA = AnswerType.TEXT, AnswerType.SCHEMA
_MANY: Final = tuple(f"v{n}" for n in (1, 4))
_DECISIONS: Final = tuple(
    Option(value=kind.value, label=label, kind=kind)
    for kind, label in (
        (OptionKind.ALLOW_ONCE, "Allow once"),
        (OptionKind.ALLOW_ALWAYS, "Allow for this session"),
        (OptionKind.DENY, "Deny"),
    )
)
_OFFER: Final = GrantOffer(
    matches=(Match(match="command", subject="rm -rf build", scope="0"),), minutes=30, uses=5
)


def _permission(**fields: Any) -> Ask:
    """Return a prompt for permission to run a command."""
    asked = _question(
        _SELECT,
        text="Run `rm -rf build`?",
        options=_DECISIONS,
        tool="Bash",
        context="```sh\nrm -rf build\n```",
        **fields,
    )
    arguments: dict[str, JsonValue] = {"tool_name": "Bash", "command": "rm -rf build"}
    request = {"name": "Bash", "dialect": "approval", "arguments": arguments, "grants": _OFFER}
    return _asked(Form(questions=(asked,), decided_by_hand=True), request)


KINDS: Final[dict[str, Ask]] = {
    "boolean": _alone(_BOOLEAN, context="The table has *forty* million rows."),
    "boolean-default": _alone(_BOOLEAN, default=True, has_default=True),
    "boolean-for-turn": _asked(
        Form(questions=(_question(_BOOLEAN, persistence=Persistence.TURN, exclusive=False),)),
        {"conversation": "c", "turn": "t"},
    ),
    "consent": _alone(_BOOLEAN, consent=True),
    "select-buttons": _alone(_SELECT, options=_options(3)),
    "select-default-other-note": _alone(
        _SELECT, options=_options(3), default="v2", has_default=True, other=True, notes=True
    ),
    "select-described": _alone(
        _SELECT, options=_options(3, description="What *{n}* does."), header="Target", other=True
    ),
    "select-previews": _alone(_SELECT, options=_options(3, preview="# Plan {n}\n* one")),
    "select-menu": _alone(_SELECT, options=_options(12), default="v2", has_default=True),
    "select-paged": _alone(_SELECT, options=_options(60), default="v40", has_default=True),
    "select-long-labels": _alone(_SELECT, options=_options(4, "{n} is *long* " * 10)),
    "multi-select": _alone(_MULTI, options=_options(6), default=[*_MANY], has_default=True),
    "multi-select-other": _alone(_MULTI, options=_options(3), other=True, other_beside=True),
    "multi-select-paged": _alone(
        _MULTI, options=_options(60), default=["v1", "v40"], has_default=True
    ),
    "text": _alone(_TEXT, context=_MARKDOWN),
    "text-default": _alone(_TEXT, default="main", has_default=True),
    "schema-fields": _alone(_SCHEMA, json_schema=_FLAT),
    "schema-json": _alone(_SCHEMA, json_schema=_TREE, default=[[1], [2, 3]], has_default=True),
    "permission": _permission(),
    "permission-unknown": _permission(nothing_known=True),
}
"""A single question of each kind, as nobody has answered it yet."""


# --- each phase ----------------------------------------------------------------------------------


def _three(**fields: Any) -> Ask:
    """Apply?, which environment?, a note; with a review."""
    questions = (
        _question(_BOOLEAN, id="apply", text="Apply the *migration*?", context="Forty rows."),
        _question(_SELECT, id="env", text="Where?", options=_options(3), other=True, notes=True),
        _question(_TEXT, id="note", text="A note for the log?", header="Note"),
    )
    return _asked(Form(questions=questions, review=True, **fields))


_YES: Final = Answer(value=True)
_GIVEN: Final = (_YES, Other(text="the *blue* cluster"), Answer(value="after\nthe backup"))
_CONFIRMED: Final = ConfirmationRule(due=2)
_WAITS: Final = _after(_three(confirmation=_CONFIRMED), *_GIVEN, Submit())
_EXPIRED: Final = (Status.EXPIRED, Reason.EXPIRED)


def _by_default(ask: Ask) -> Ask:
    """Return an answered ask as if its defaults were its answers."""
    given = tuple(replace(each, source=Source.DEFAULT, by=None) for each in ask.walk.answers)
    return replace(ask, walk=replace(ask.walk, answers=given))


def _many(count: int) -> Ask:
    questions = tuple(
        _question(_BOOLEAN, id=f"q{n}", text=f"Question {n}?") for n in range(1, count + 1)
    )
    return _asked(Form(questions=questions, review=True))


def _asides(*asides: Aside) -> Ask:
    return replace(KINDS["boolean"], asides=asides)


_ASKED_BACK: Final = Aside(question_id="q", text="Which *table*?", at=_ASKED_AT, by=ADA)
_EXPLAINED: Final = Aside(question_id="q", text="The table `invoices`.", at=_ASKED_AT)
_ALLOWED: Final = _after(KINDS["permission"], Answer(value="allow_once"))
_NOTE: Final = GrantNote(id="grant_1", by=ADA, uses=5, until=_ASKED_AT + 1_800)

PHASES: Final[dict[str, Ask]] = {
    "second-question": _after(_three(), *_GIVEN[:1]),
    "answers-of-two-people": _after(_after(_three(), _GIVEN[0]), _GIVEN[1], by=BOB, wait=600),
    "back": _after(_three(), *_GIVEN[:2], Back()),
    "back-to-a-note": _after(_three(), _YES, Answer(value="v2", note="for *now*"), Back()),
    "fortieth-question": _after(_many(41), *[_YES] * 39),
    "edit": _after(_three(), *_GIVEN, Edit(question_id="note")),
    "for-some-people": with_values(
        _three(),
        responders=tuple(f"web:{name}" for name in ("Ada", "Bob", "Cy", "Di", "Ed", "Flo")),
        expires_at=_ASKED_AT + 86_400,
    ),
    "unattended": with_values(_three(), agent_left=True),
    "hand-over": replace(
        _three(), request=_three().request.model_copy(update={"allowed_recipients": ("Ada", "Bob")})
    ),
    "asked-back": _asides(_ASKED_BACK),
    "explained": _asides(_ASKED_BACK, _EXPLAINED),
    "review": _after(_three(), *_GIVEN),
    "review-of-twelve": _after(_many(12), *[_YES] * 12),
    "review-of-forty": _after(_many(40), *[_YES] * 40),
    "confirmation": _WAITS,
    "confirmation-explained": replace(
        _WAITS,
        asides=(
            replace(_ASKED_BACK, question_id="apply"),
            replace(_EXPLAINED, question_id="apply"),
        ),
    ),
    "confirmation-without-context": _after(
        _asked(Form(questions=(_question(_BOOLEAN),), confirmation=_CONFIRMED)), _YES
    ),
    "confirmed-by-one": _after(_WAITS, Confirm(), by=BOB),
    "answered": _after(KINDS["boolean"], _YES),
    "answered-by-several-options": _after(
        KINDS["multi-select-other"], Other(text="my *own*", value=["v1", "v3"])
    ),
    "answered-after-a-review": _after(_three(), *_GIVEN, Submit()),
    "answered-by-defaults": _by_default(_after(KINDS["boolean-default"], _YES)),
    "answered-by-two-people": _after(
        _after(_three(), *_GIVEN[:2]), _GIVEN[2], Submit(), by=BOB, wait=600
    ),
    "answered-long": _after(_many(12), *[_YES] * 12, Submit()),
    "collected": with_values(
        _after(KINDS["boolean"], _YES), read_by_agent_at=_ASKED_AT + 120, agent_left=True
    ),
    "not-collected": with_values(
        _after(KINDS["boolean"], _YES), unread_by_agent=True, agent_left=True
    ),
    "reply": _after(_three(), _YES, Reply(text="Not on a *Friday*.\nMonday.")),
    "closed": _after(_three(), _YES, Reply()),
    "turn-ended": _after(_three(), EndTurn()),
    "rejected": _after(_WAITS, Object(text="Not *yet*."), by=BOB),
    "expired": _ended(_after(_three(), _YES), *_EXPIRED),
    "withdrawn": _ended(_three(), Status.WITHDRAWN, Reason.WITHDRAWN),
    "failed": _ended(_three(), Status.FAILED, Reason.BACKEND_ERROR, message="No *chat*."),
    "erased": replace(_after(KINDS["boolean"], _YES), erased_at=_ASKED_AT + 9_000),
    "denied-too-late": _ended(KINDS["permission"], *_EXPIRED, gave_up=GaveUp.DENIED),
    "tried-again": replace(
        _ended(KINDS["permission"], *_EXPIRED, gave_up=GaveUp.DENIED),
        retry_request=TriedAgain(at=_ASKED_AT + 4_000, by=ADA, text="Please *try* again."),
    ),
    "allowed-again": replace(_ALLOWED, grant=_NOTE),
    "allowed-by-a-grant": replace(
        _after(KINDS["permission"], Answer(value="allow_once"), by=None),
        grant=replace(_NOTE, number=2, revoked_at=_ASKED_AT + 900, revoked_by=BOB),
    ),
}
"""Each state in which a form, its confirmation or its record can be shown."""


# --- what may be cut -----------------------------------------------------------------------------

_CODE: Final = "```sql\n" + "\n".join(f"SELECT {n};" for n in range(90)) + "\n```"
CUT: Final[dict[str, Ask]] = {
    "long-question": _alone(_BOOLEAN, text=_long("Apply step")),
    "long-context": _alone(_BOOLEAN, context=_long("The table has rows")),
    "long-context-as-text": _asked(
        Form(questions=(_question(_BOOLEAN, context=_long("Rows")),), context_format="text")
    ),
    "long-code": _alone(_BOOLEAN, context=f"Look:\n\n{_CODE}"),
    "long-header": _alone(_SELECT, options=_options(3), header="Authentication method"),
    "long-labels": _alone(_SELECT, options=_options(12, "{n} is a *long* label " * 40)),
    "long-descriptions": _alone(
        _SELECT, options=_options(4, description="{n} does a *lot*. " * 150)
    ),
    "long-default": _alone(_TEXT, default=_long("A word"), has_default=True),
    "long-asides": _asides(
        replace(_ASKED_BACK, text=_long("Which table", 150)),
        replace(_EXPLAINED, text=_long("The table", 300)),
    ),
    "long-answers": _after(
        _three(), _YES, Other(text=_long("the *blue* cluster", 200)), Answer(value=_long("Note"))
    ),
    "long-record": _after(
        _three(), _YES, Other(text=_long("the *blue*", 300)), Answer(value=_long("Note")), Submit()
    ),
    "long-reply": _after(_three(), _YES, Reply(text=_long("Not on a *Friday*"))),
    "long-confirmation": _after(
        _asked(
            Form(questions=(_question(_BOOLEAN, context=_long("Rows")),), confirmation=_CONFIRMED)
        ),
        _YES,
    ),
    "everything-long": _alone(
        _SELECT,
        text=_long("Apply step", 300),
        context=_long("The table has rows", 300),
        header="Authentication method",
        options=_options(60, "{n} is a *long* label " * 6),
        other=True,
    ),
}
"""Asks of which a chat's message has to cut something."""

MESSAGE_CASES: Final[dict[str, dict[str, Ask]]] = {"kinds": KINDS, "phases": PHASES, "cut": CUT}

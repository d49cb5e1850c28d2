"""Shared by the variants of the dialect `approval`: reading requests and rendering decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.answers import format_value
from answerback.core.form import (
    MAX_OPTIONS,
    AnswerType,
    NoteReach,
    Option,
    OptionKind,
    Question,
    When,
)
from answerback.dialects.approvals import tool_use
from answerback.dialects.approvals.arguments_markdown import Block, to_json_text
from answerback.dialects.call_reader import ArgumentNode

DECISION: Final = "decision"
"""The id of the approval question, which is the only question in most variants."""
_MAX_LABEL: Final = 150
"""The most characters in a label built from what an agent sent; longer texts go into the description."""

_EXTRA_OPTIONS: Final = 5
"""The number of options that a variant may have in addition to those that a host lists."""
Json = dict[str, JsonValue]
AnswersById = Mapping[str, JsonValue]
"""The answers, by question id."""
EditsById = Mapping[str, Json]
"""The arguments that people allowed in place of the agent's, by question id."""


class Editable(NamedTuple):
    """The arguments that a host takes changed with the decision, or the part of them that it takes."""

    places: tuple[ArgumentNode, ...]
    """The places in the call where they stand; they are the same in each."""
    part: str | None = None
    """The name of the only text that the host takes; None: it takes all arguments."""
    schema: JsonValue = None
    """The JSON Schema that other arguments have to fit, if the call has one."""

    @property
    def arguments(self) -> JsonValue:
        """The object that people may change, or its JSON as a text."""
        value = self.places[0].value
        return value if self.part is None else {self.part: value}

    def replaced_in(self, call: Json, edited: Json) -> Json:
        """Return a call with other arguments, in each place."""
        new = edited if self.part is None else edited[self.part]
        for place in self.places:
            call = _replaced(call, place.path, new)  # type: ignore[assignment]  # an object as before
        return call


def _replaced(value: JsonValue, path: tuple[str | int, ...], new: JsonValue) -> JsonValue:
    if not path:
        return new
    [key, *below] = path
    if isinstance(value, dict) and isinstance(key, str):
        return {**value, key: _replaced(value.get(key), tuple(below), new)}
    assert isinstance(value, list), f"there is no {key}"
    assert isinstance(key, int), f"there is no {key}"
    return [*value[:key], _replaced(value[key], tuple(below), new), *value[key + 1 :]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request to use a tool once."""

    tool: str
    options: tuple[Option, ...]
    arguments: JsonValue = None
    notes: Json = field(default_factory=dict)
    """Other information from the host, such as where and why."""
    id: str = DECISION
    server: str | None = None
    """The label of the MCP server that has the tool, if the host sends it on its own."""
    full_name: str | None = None
    """The tool's name as agents write it, if it is another one; never split, as a server may end in ``_``."""
    acp_kind: JsonValue = None
    """The kind of the tool, in ACP's words."""
    headline: str | None = None
    """The action that would be allowed, where that is not the use of a tool."""
    lead: tuple[Block, ...] = ()
    """The blocks that are shown first."""
    title: str | None = None
    """The host's own words for it, which are the headline where nothing better is known."""
    said: tuple[str, ...] = ()
    """The host's other statements about it, as Markdown."""
    texts: tuple[str, ...] = ()
    """Markdown that follows what matters most, unless it stands in the arguments."""
    further: tuple[Question, ...] = ()
    """Follow-up questions for some of the decisions."""
    compared: tuple[ArgumentNode, ...] = ()
    """The parts of the call that a grant compares on their own, above all the arguments."""
    nothing_known: bool = False
    """True if the host did not say what would happen."""
    editable: Editable | None = None
    """The arguments that people may change before they allow it; None: the host takes nothing changed."""
    takes_grants: bool = True
    """True if a grant that a person has made before may allow it."""
    takes_note: bool = False
    """True if a person's note with the decision reaches the model."""

    def questions(self, *, denial_has_note: bool) -> tuple[Question, ...]:
        """Return the approval question and its follow-up questions.

        Args:
            denial_has_note: whether the host has a place for what a person says with a denial.
        """
        use = tool_use.describe(
            self.tool,
            self.arguments,
            self.notes,
            server=self.server,
            acp_kind=self.acp_kind,
            line=self.headline,
            lead=self.lead,
            title=self.title,
            said=self.said,
            texts=self.texts,
        )
        question = Question(
            id=self.id,
            text=use.headline,
            context=use.context,
            answer_type=AnswerType.SELECT,
            options=tuple(sorted(self.options, key=_place_by_kind)),
            tool=self.full_name or self.tool,
            nothing_known=self.nothing_known,
            plan=use.is_plan,
            notes=self.takes_note or any(each.kind is not None for each in self.options),
            note_reach=self._note_reach(denial_has_note=denial_has_note),
        )
        once_more = self._once_more(question) if self.nothing_known else ()
        return (question, *self.further, *once_more)

    def _note_reach(self, *, denial_has_note: bool) -> NoteReach:
        if self.takes_note:
            return NoteReach.ALWAYS
        return NoteReach.DENIED if denial_has_note else NoteReach.NEVER

    def _once_more(self, decision: Question) -> Iterator[Question]:
        """Yield what people are asked before they allow something of which nothing is known."""
        for number, option in enumerate(decision.options, 1):
            if decision.allows_unseen(option.value):
                sure = option.model_copy(update={"label": f"{option.label}, unseen"})
                yield decision.model_copy(
                    update={
                        "id": f"unseen_{number}",
                        "text": "Allow it without knowing what it will do?",
                        "options": (sure,),
                        "notes": False,
                        "when": When(question_id=decision.id, equals=option.value),
                    }
                )


class Variant(NamedTuple):
    """The functions that read one host's requests and render its results."""

    read: Callable[[ArgumentNode], Iterable[ApprovalRequest]]
    """Reads the approval requests of a call and records problems."""
    render_decision: Callable[[AnswersById, Json], JsonValue]
    """Renders a decision in the host's format, from the answers and the call's arguments."""
    render_no_decision: Callable[[AnswersById, Json, str], JsonValue]
    """Renders the lack of a decision in the host's format, with the person's reply or the reason."""
    with_notes: Callable[[Json, AnswersById], Json] | None = None
    """Adds what people said with their decisions, by question id, where the host has a place for it; None: it never
    has one."""
    render_edited: Callable[[AnswersById, Json, EditsById], JsonValue] | None = None
    """Renders a decision about a call that a person has changed; None: the host takes no other arguments."""


def one_field(
    read: Callable[[ArgumentNode], Iterable[ApprovalRequest]],
    name: str,
    no: str,
    *,
    reason: str | None = None,
    reason_when_allowed: bool = False,
) -> Variant:
    """Return the variant of a host whose result is one field.

    Args:
        name: the field with the decision.
        no: its value without a decision.
        reason: the field that then says why, if there is one.
        reason_when_allowed: whether the host passes that field on to its model with any decision.
    """

    def with_notes(result: Json, notes: AnswersById) -> Json:
        takes_it = reason_when_allowed or result[name] == no
        return {**result, str(reason): notes[DECISION]} if takes_it else result

    return Variant(
        read,
        lambda answers, _arguments: {name: answers[DECISION]},
        lambda _answers, _arguments, why: {name: no, **({} if reason is None else {reason: why})},
        None if reason is None else with_notes,
    )


_DENYING: Final = frozenset({"deny", "reject", "decline", "cancel", "reject_always"})
LASTING_DENIAL: Final = "reject_always"
_ALLOWING_ONCE: Final = frozenset(
    {"allow", "approve", "accept", "once", "turn", "proceed_once", "allow-once"}
)
_ALLOWING_ALWAYS: Final = frozenset(
    {"always", "session", "acceptForSession", "approve_always", "proceed_always", "allow-always"}
)


def kind_of_value(value: str) -> OptionKind:
    """Return what an option does, by the value that hosts give it."""
    for kind, values in (
        (OptionKind.ALLOW_ONCE, _ALLOWING_ONCE),
        (OptionKind.ALLOW_ALWAYS, _ALLOWING_ALWAYS),
        (OptionKind.DENY, _DENYING),
    ):
        if value in values:
            return kind
    return OptionKind.OTHER


def _place_by_kind(option: Option) -> int:
    """Allowing first, denying last."""
    return [*OptionKind].index(option.kind or OptionKind.OTHER)


def options(**labels: str) -> tuple[Option, ...]:
    """Build options from labels by value, which says what each does."""
    return tuple(
        Option(value=value, label=label, kind=kind_of_value(value), lasting=value == LASTING_DENIAL)
        for value, label in labels.items()
    )


YES_NO: Final = options(approve="Approve", reject="Reject")


def yes_or_no(
    read: Callable[[ArgumentNode], Iterable[ApprovalRequest]],
    response: Callable[[Json, bool], Json],
) -> Variant:
    """Return the variant of a host whose response says whether the use is approved, or else the ``reason``."""
    return Variant(
        read,
        lambda answers, arguments: response(arguments, answers[DECISION] == "approve"),
        lambda _answers, arguments, reason: {**response(arguments, False), "reason": reason},
        lambda result, notes: (
            result if _approves(result) else {**result, "reason": notes[DECISION]}
        ),
    )


def _approves(result: Json) -> bool:
    return result.get("approve", result.get("approved")) is True


def option_for(
    value: str,
    label: str,
    sent: JsonValue,
    kind: OptionKind,
    *,
    whole: bool,
    lasting: bool = False,
) -> Option:
    """Build an option for something that the host sent.

    Args:
        whole: whether the label describes it completely; if not, the description contains it verbatim.
        lasting: whether it denies further uses as well.
    """
    short = label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}…"
    complete = whole and short == label
    description = None if complete else to_json_text(sent)
    return Option(value=value, label=short, description=description, kind=kind, lasting=lasting)


def optional_items(node: ArgumentNode, key: str, noun: str) -> list[ArgumentNode]:
    """Read the items of an optional array, which must leave space for a few more options."""
    most = MAX_OPTIONS - _EXTRA_OPTIONS
    return node.items(key, min_items=0, max_items=most, noun=noun, required=False)


_KINDS: Final = {
    "allow_once": OptionKind.ALLOW_ONCE,
    "allow_always": OptionKind.ALLOW_ALWAYS,
    "reject_once": OptionKind.DENY,
    "reject_always": OptionKind.DENY,
}
"""The kinds of ACP."""


def read_options(
    call: ArgumentNode, value_key: str, label_key: str
) -> list[tuple[Option, JsonValue]]:
    """Read the host's options, each with its kind. Their values must be unique."""
    offered: dict[str, tuple[Option, JsonValue]] = {}
    for node in call.items("options", min_items=1, max_items=MAX_OPTIONS, noun="options"):
        if not node.is_object():
            continue
        value, label = node.label(value_key), node.label(label_key)
        if value in offered:
            message = f"{node.name}.{value_key} {format_value(value)} is already used; ids must be unique."
            node.fail("duplicate_option", message, value_key)
        if value is not None and label is not None:
            kind = node.at("kind").value
            option = Option(
                value=value,
                label=label,
                kind=_KINDS.get(str(kind), kind_of_value(value)),
                lasting=LASTING_DENIAL in (kind, value),
            )
            offered[value] = option, kind
    return [*offered.values()]


def require_object(node: ArgumentNode, key: str) -> ArgumentNode:
    """Read a required child that is an object."""
    child = node.at(key)
    if not node.has(key):
        child.fail("required", f"{child.name} is missing: it must be an object.")
    else:
        child.is_object()
    return child


def read_tool_name(*places: tuple[ArgumentNode, str]) -> str:
    """Read the tool's name from the first of these places that has it; if none has, report the first as missing."""
    node, key = next(((node, key) for node, key in places if node.has(key)), places[0])
    if not isinstance(node.value, dict):
        return "?"  # already recorded
    return node.text(key) or "?"


def mcp_tool_name(server: str | None, tool: str) -> str:
    """Return the name of an MCP server's tool, as agents write it."""
    return f"mcp__{server}__{tool}"


def others(node: ArgumentNode, *known: str) -> Json:
    """Return the fields of an object that are not among the known ones: what a host adds may decide what runs."""
    fields = node.value if isinstance(node.value, dict) else {}
    return {key: value for key, value in fields.items() if key not in known and value is not None}


def together(fields: Json, **more: Json) -> Json:
    """Put the fields of several objects together; where two have the same name, the later is under its object's."""
    for name, part in more.items():
        twice = {key: value for key, value in part.items() if fields.get(key, value) != value}
        fields = part | fields | ({name: twice} if twice else {})
    return fields

"""Who answers a question: the configuration, the inquiry backend, a person, or nobody. One decision table. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

from answerback.core.actions import Answer
from answerback.core.answers import Invalid, check_answer
from answerback.core.ask import Ask, Change, Reason, Status, end_ask, request_entry
from answerback.core.controls import memory_key
from answerback.core.errors import NO_RETRY
from answerback.core.form import Question
from answerback.dialects import installed
from answerback.ports.store_values import RememberedAnswer


def _check_not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank: set a text, or leave it out")
    return text


NotBlank = Annotated[str, AfterValidator(_check_not_blank)]
"""A text in the configuration that people see."""


class _ConfigModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionRule(_ConfigModel):
    """``[tools.<name>.questions.<id>]``: the operator's settings for one question."""

    answer: JsonValue = None
    """A fixed answer; nobody is asked."""
    target: Literal["user", "assistant"] = "user"
    """``assistant`` sends the question to the inquiry backend."""
    prompt_label: NotBlank | None = None
    """The name of the asker that people see."""


class ToolRule(_ConfigModel):
    """``[tools.<name>]``: the operator's settings for one tool."""

    enable: bool = True
    questions: dict[str, QuestionRule] = {}


class Rules(_ConfigModel):
    """``[tools]``, by the name of the tool or of its dialect; for `tool_question`, also by the tool that asks.

    Settings under one name of a dialect apply to all its names, because the model chooses the name that it calls.
    """

    tools: dict[str, ToolRule] = {}

    def disabling_key(self, dialect: str, name: str = "", tool: str | None = None) -> str | None:
        """The key that switches off a dialect, called by this name and for this tool; None if there is none."""
        for key in _names(dialect, name, tool):
            if key in self.tools and not self.tools[key].enable:
                return f"tools.{key}.enable"
        return None

    def enabled(self, dialect: str) -> bool:
        return self.disabling_key(dialect) is None

    def labels(self, dialect: str, name: str, tool: str | None) -> dict[str, str]:
        """The asker's name by question id, for questions where the operator sets it."""
        return {
            question_id: rule.prompt_label
            for key in reversed(_names(dialect, name, tool))
            if key in self.tools
            for question_id, rule in self.tools[key].questions.items()
            if rule.prompt_label is not None
        }

    def rule_for(self, ask: Ask, question: Question) -> tuple[str, QuestionRule]:
        """The rule for a question, and the configuration key where its answer is (or would be) set.

        Each setting comes from the most specific name that has it.
        """
        names = _names(ask.request.dialect, ask.request.name, question.tool or ask.form.tool)
        settings_by_name = {
            name: self.tools[name].questions[question.id].model_dump(exclude_unset=True)
            for name in names
            if name in self.tools and question.id in self.tools[name].questions
        }
        merged: dict[str, JsonValue] = {}
        for settings in reversed(settings_by_name.values()):
            merged |= settings
        answering = [name for name, settings in settings_by_name.items() if "answer" in settings]
        name = next(iter([*answering, *settings_by_name]), ask.request.name)
        return f"tools.{name}.questions.{question.id}", QuestionRule.model_validate(merged)


def _names(dialect: str, name: str, tool: str | None) -> list[str]:
    """The names under which a call may be configured, most specific first."""
    names = (tool or "", name, *installed.tool_names_of(dialect), dialect)
    return list(dict.fromkeys(filter(None, names)))


@dataclass(frozen=True, slots=True)
class UseFixedAnswer:
    """The configured answer, which is valid."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Inquire:
    """The inquiry backend should answer."""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person should answer, on the surface."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Nobody can answer: the ask fails with this message for the model."""

    reason: Reason
    message: str


Routing = UseFixedAnswer | Inquire | AskPerson | Fail

_QUESTION: Final = "question"
WITHOUT_PEOPLE: Final = "continue without user input or explain what information is missing"
"""The advice to a model when nobody can be asked."""


def no_retry_message(why: str, advice: str = "") -> str:
    """Say why an ask failed so that a model does not try again; ``advice`` says what to do instead."""
    return f"{why.rstrip(' .')}. {NO_RETRY} in this turn{advice and '; ' + advice}."


def route_by_rule(
    ask: Ask, question: Question, rules: Rules, *, inquiry: bool
) -> UseFixedAnswer | Inquire | Fail | None:
    """Decide who answers if the configuration says so: the same at submission as when the question is reached.

    Args:
        inquiry: whether an inquiry backend is configured.
    """
    key, rule = rules.rule_for(ask, question)
    who = _asking(ask, question)
    if rule.answer is not None and not ask.request.files:  # it was set without having seen them
        checked = check_answer(question, rule.answer)
        if not isinstance(checked, Invalid):
            return UseFixedAnswer(checked.value)
        message = (
            f"{who}: the configured answer ({key}.answer) does not fit: {checked.problems[0].message} "
            f"{NO_RETRY}: the operator has to fix the configuration."
        )
        return Fail(Reason.INVALID_STATIC_ANSWER, message)
    if rule.target == "user":
        return None
    if question.exclusive:
        message = f"{who} requires a human answer and cannot be routed to the assistant"
        return Fail(Reason.ASSISTANT_ROUTING_DENIED, no_retry_message(message))
    if inquiry:
        return Inquire()
    message = (
        f"{who} is routed to the assistant ({key}.target), but no inquiry backend is configured "
        "(inquiry.url), which the operator has to do"
    )
    return Fail(Reason.NO_PROMPT_BACKEND, no_retry_message(message, WITHOUT_PEOPLE))


def fail_misconfigured(ask: Ask, rules: Rules, *, inquiry: bool) -> Change | None:
    """Fail a new ask if the configuration for any of its questions can never work; None: it can.

    A condition may skip that question, but the operator's mistake should not wait for the answer that does not.
    """
    for index, question in enumerate(ask.form.questions):
        wrong = route_by_rule(ask, question, rules, inquiry=inquiry)
        if isinstance(wrong, Fail):
            asked, at = replace(ask, walk=replace(ask.walk, at=index)), ask.created_at
            failed = end_ask(
                asked, Status.FAILED, at=at, reason=wrong.reason, message=wrong.message
            )
            return Change(failed.ask, request_entry(asked, at) + failed.entries)
    return None


def route(ask: Ask, question: Question, rules: Rules, *, surface: bool, inquiry: bool) -> Routing:
    """Decide who answers.

    Args:
        surface: whether the ask's surface is configured and connected.
        inquiry: whether an inquiry backend is configured.
    """
    if (by_rule := route_by_rule(ask, question, rules, inquiry=inquiry)) is not None:
        return by_rule
    if surface:
        return AskPerson()
    if inquiry and not question.exclusive:
        return Inquire()
    message = no_retry_message(
        f"{_asking(ask, question)} cannot be asked because no chat surface is available",
        WITHOUT_PEOPLE,
    )
    return Fail(Reason.NO_PROMPT_BACKEND, message)


def _asking(ask: Ask, question: Question) -> str:
    name = question.tool or ask.form.tool or ask.request.name
    asking = name if name == _QUESTION else f"{name} {_QUESTION}"
    return f'{asking} "{question.id}"'


def answer_to_remember(ask: Ask, action: Answer) -> RememberedAnswer:
    """Return what is stored so that the rest of the turn reuses an answer."""
    key = memory_key(ask)
    assert key is not None, f"{ask.id}: it was checked that the answer can be remembered"
    return RememberedAnswer(*key, action.value)

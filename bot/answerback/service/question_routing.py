"""Who answers a question: the configuration, the inquiry backend, a person, or nobody. One decision table, pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from answerback.core.answers import Invalid, check_answer
from answerback.core.ask import Ask, Reason
from answerback.core.form import Question
from answerback.dialects import detection


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionRule(_Config):
    """``[tools.<name>.questions.<id>]``: what the operator says of one question."""

    answer: JsonValue = None
    """A fixed answer; nobody is asked."""
    target: Literal["user", "assistant"] = "user"
    """``assistant`` sends the question to the inquiry backend."""
    prompt_label: str | None = None
    """Who asks, as people see it."""


class ToolRule(_Config):
    """``[tools.<name>]``: what the operator says of one tool."""

    enable: bool = True
    questions: dict[str, QuestionRule] = {}


class Rules(_Config):
    """``[tools]``: by a name of the tool or of its dialect; for `tool_question`, by the tool that asks as well.

    What is said under one name of a dialect holds for all its names: a model chooses the name that it calls.
    """

    tools: dict[str, ToolRule] = {}

    def disabling_key(self, dialect: str, name: str = "", tool: str | None = None) -> str | None:
        """The key that switches off a dialect, called by this name and for this tool; None where none does."""
        for key in _names(dialect, name, tool):
            if key in self.tools and not self.tools[key].enable:
                return f"tools.{key}.enable"
        return None

    def enabled(self, dialect: str) -> bool:
        """Whether a dialect is offered."""
        return self.disabling_key(dialect) is None

    def labels(self, dialect: str, name: str, tool: str | None) -> dict[str, str]:
        """Who asks, by question id, where the operator says so."""
        return {
            question_id: rule.prompt_label
            for key in reversed(_names(dialect, name, tool))
            if key in self.tools
            for question_id, rule in self.tools[key].questions.items()
            if rule.prompt_label is not None
        }

    def rule_for(self, ask: Ask, question: Question) -> tuple[str, QuestionRule]:
        """The rule for a question and the configuration key where its answer is (or would be) written.

        Each setting is taken from the first of the names that has it.
        """
        names = _names(ask.request.dialect, ask.request.name, question.tool or ask.form.tool)
        found = {
            name: self.tools[name].questions[question.id].model_dump(exclude_unset=True)
            for name in names
            if name in self.tools and question.id in self.tools[name].questions
        }
        merged: dict[str, JsonValue] = {}
        for settings in reversed(found.values()):
            merged |= settings
        answering = [name for name, settings in found.items() if "answer" in settings]
        name = next(iter([*answering, *found]), ask.request.name)
        return f"tools.{name}.questions.{question.id}", QuestionRule.model_validate(merged)


def _names(dialect: str, name: str, tool: str | None) -> list[str]:
    """The names under which the configuration may speak of a call, the most exact first."""
    every = (tool or "", name, *detection.tool_names_of(dialect), dialect)
    return list(dict.fromkeys(filter(None, every)))


@dataclass(frozen=True, slots=True)
class UseFixedAnswer:
    """The configured answer, which fits."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Inquire:
    """The inquiry backend is to answer."""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """A person is to answer, on the surface."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Nobody can answer: the ask fails with these words for the model."""

    reason: Reason
    message: str


Routing = UseFixedAnswer | Inquire | AskPerson | Fail

WITHOUT_PEOPLE: Final = "continue without user input or explain what information is missing"
"""What a model can do where nobody can be asked."""


def no_retry_message(why: str, advice: str = "") -> str:
    """Why an ask failed, as sentences that keep a model from trying again; ``advice`` says what to do instead."""
    return (
        f"{why.rstrip(' .')}. Do not retry this tool call in this turn{advice and '; ' + advice}."
    )


def route(ask: Ask, question: Question, rules: Rules, *, surface: bool, inquiry: bool) -> Routing:
    """Decides who answers.

    Args:
        surface: whether the ask's surface is configured and connected.
        inquiry: whether an inquiry backend is configured.
    """
    key, rule = rules.rule_for(ask, question)
    who = f'{question.tool or ask.form.tool or ask.request.name} question "{question.id}"'
    if rule.answer is not None:
        checked = check_answer(question, rule.answer)
        if isinstance(checked, Invalid):
            message = (
                f"{who}: the configured answer ({key}.answer) does not fit: {checked.problems[0].message} "
                "Do not retry this tool call: the operator has to fix the configuration."
            )
            return Fail(Reason.INVALID_STATIC_ANSWER, message)
        return UseFixedAnswer(checked.value)
    if rule.target == "assistant":
        if question.exclusive:
            message = f"{who} requires a human answer and cannot be routed to the assistant"
            return Fail(Reason.ASSISTANT_ROUTING_DENIED, no_retry_message(message))
        if inquiry:
            return Inquire()
    elif surface:
        return AskPerson()
    elif inquiry and not question.exclusive:
        return Inquire()
    message = no_retry_message(
        f"{who} cannot run because no chat surface is available", WITHOUT_PEOPLE
    )
    return Fail(Reason.NO_PROMPT_BACKEND, message)

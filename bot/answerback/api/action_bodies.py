"""What responders do, as the bodies of requests, and the action that each asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, assert_never

from pydantic import Field, JsonValue, RootModel, StrictBool

from answerback.api.wire import Wire
from answerback.core import walker
from answerback.core.clarification import AskBack


class ActorBody(Wire):
    """The person on whose behalf a custom front end acts."""

    user_id: Annotated[str, Field(min_length=1, max_length=200)]
    name: Annotated[str, Field(max_length=200)] | None = None
    groups: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """The user groups or roles the person is in, each with its @ or without."""


class _Acting(Wire):
    revision: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The revision the person saw; another one is refused with 409."""
    actor: ActorBody | None = None


class AnswerBody(_Acting):
    """Answer the prompted question.

    ``remember`` lets the answer hold for the turn, where that is offered; ``note`` is words beside the answer, where
    the prompt's ``note`` is true.
    """

    action: Literal["answer"]
    value: JsonValue
    remember: StrictBool = False
    note: str | None = None


class OtherBody(_Acting):
    """Answer with words of one's own, where the question offers that.

    ``value``: the options that are ticked beside them, in a multi_select. Where the prompt's ``other_beside`` is true
    they stay, and the words are one more row; else the words replace them.
    """

    action: Literal["other"]
    text: str
    value: JsonValue = None


class BackBody(_Acting):
    """Go back to the previous answered question; while an answer is edited, to the review as it was."""

    action: Literal["back"]


class EditBody(_Acting):
    """In review: answer one question again."""

    action: Literal["edit"]
    question_id: str


class SubmitBody(_Acting):
    """In review: hand in the answers."""

    action: Literal["submit"]


class AskBackBody(_Acting):
    """Ask the agent to explain the open question, which stays open; where `controls` offers it."""

    action: Literal["ask_back"]
    text: str


class ReplyBody(_Acting):
    """End the ask with words for the agent, or none."""

    action: Literal["reply"]
    text: str | None = None


class EndTurnBody(_Acting):
    """End the ask and the agent's turn."""

    action: Literal["end_turn"]


ActionModel = (
    AnswerBody
    | OtherBody
    | BackBody
    | EditBody
    | SubmitBody
    | AskBackBody
    | ReplyBody
    | EndTurnBody
)


ACTIONS: Final[Mapping[str, type[ActionModel]]] = {
    "answer": AnswerBody,
    "other": OtherBody,
    "back": BackBody,
    "edit": EditBody,
    "submit": SubmitBody,
    "ask_back": AskBackBody,
    "reply": ReplyBody,
    "end_turn": EndTurnBody,
}


def action_from_body(body: ActionModel) -> walker.Action | AskBack:
    """The action that a body asks for."""
    match body:
        case AnswerBody():
            return walker.Answer(value=body.value, remember=body.remember, note=body.note)
        case OtherBody():
            return walker.Other(text=body.text, value=body.value)
        case BackBody():
            return walker.Back()
        case EditBody():
            return walker.Edit(question_id=body.question_id)
        case SubmitBody():
            return walker.Submit()
        case AskBackBody():
            return AskBack(text=body.text)
        case ReplyBody():
            return walker.Reply(text=body.text)
        case EndTurnBody():
            return walker.EndTurn()
        case _:
            assert_never(body)


class ActionBody(RootModel[Annotated[ActionModel, Field(discriminator="action")]]):
    """One action of a responder."""

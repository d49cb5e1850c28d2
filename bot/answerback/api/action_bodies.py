"""The request bodies of responders' actions, and the core action that each maps to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, assert_never, get_args

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    RootModel,
    StrictBool,
    model_validator,
)

from answerback.api.wire import Wire
from answerback.core.actions import (
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Next,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.clarification import AskBack
from answerback.core.editing import AllowEdited
from answerback.core.files import MAX_FILES
from answerback.core.grants import GrantTerms
from answerback.core.handing_over import HandOver
from answerback.core.intents import ResolvedAction
from answerback.service.batches import MAX_BATCH
from answerback_base import strict_json


class ActorBody(Wire):
    """The person on whose behalf a custom front end acts."""

    user_id: Annotated[str, Field(min_length=1, max_length=200)]
    surface: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Where they have this id; by default, on the ask's own surface."""
    name: Annotated[str, Field(max_length=200)] | None = None
    groups: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    """The user groups or roles the person is in, each with or without its @."""


class _Acting(Wire):
    revision: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The revision the person saw; if it asks something else by now, the action is refused with 409."""
    actor: ActorBody | None = None


class _WithFiles(_Acting):
    files: Annotated[tuple[str, ...], Field(max_length=MAX_FILES)] = ()
    """The ids of files that come with the text or the note. The same person has uploaded them with ``POST /v1/files``,
    within an hour."""


class GivenGrantBody(Wire):
    """The grant to make along with an answer: one of the prompt's ``grants``, for how long and how often."""

    match: Annotated[str, Field(min_length=1, max_length=1_000)]
    minutes: Annotated[int, Field(strict=True, ge=1)]
    uses: Annotated[int, Field(strict=True, ge=1)]


class AnswerBody(_WithFiles):
    """Answer the prompted question.

    ``remember`` keeps the answer for the rest of the turn, if the prompt offers that; ``note`` is a note to go with
    the answer, allowed if the prompt's ``note`` is true; ``grant`` allows the same again; ``unseen`` allows something
    of which nothing is known, where the prompt's ``nothing_known`` is true; ``edited`` allows the call with other
    arguments, where the prompt's ``editable`` is true: all of them, as an object or as its JSON in a text.
    """

    action: Literal["answer"]
    value: JsonValue
    remember: StrictBool = False
    note: str | None = None
    grant: GivenGrantBody | None = None
    unseen: StrictBool = False
    edited: dict[str, JsonValue] | str | None = None
    _written: str | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _keep_numbers(cls, body: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        answer = validate(body)
        sent = body.get("edited") if isinstance(body, Mapping) else None
        if isinstance(sent, dict):
            answer._written = strict_json.dump_as_written(sent, ensure_ascii=False)
        elif isinstance(sent, str):
            answer._written = sent
        return answer

    @property
    def written_edit(self) -> str | None:
        """The edited arguments as JSON, with each number as it was written."""
        return self._written


class OtherBody(_WithFiles):
    """Answer in free text, if the question offers that.

    ``value``: the options that are ticked as well, in a multi_select. If the prompt's ``other_beside`` is true, they
    are kept and the text is one more row; otherwise the text replaces them.
    """

    action: Literal["other"]
    text: str
    value: JsonValue = None


class BackBody(_Acting):
    """Go back to the previously answered question or, while editing an answer, to the unchanged review."""

    action: Literal["back"]


class EditBody(_Acting):
    """In the review: answer one question again."""

    action: Literal["edit"]
    question_id: str


class SubmitBody(_Acting):
    """In the review: submit the answers."""

    action: Literal["submit"]


class NextBody(_Acting):
    """Leave the open question for later, and move on to another one without an answer. Allowed if `has_next`."""

    action: Literal["next"]


class AskBackBody(_Acting):
    """Ask the agent to explain the open question, which stays open. Allowed if `controls` lists it."""

    action: Literal["ask_back"]
    text: str


class ReplyBody(_WithFiles):
    """End the ask with a reply to the agent, or with none."""

    action: Literal["reply"]
    text: str | None = None


class ConfirmBody(_Acting):
    """Confirm the answers, which others gave. Allowed if `controls` lists it."""

    action: Literal["confirm"]


class ObjectBody(_WithFiles):
    """Object to the answers that wait for confirmation: ends the ask as a reply does."""

    action: Literal["object"]
    text: str | None = None


class HandOverBody(_Acting):
    """Hand the ask over to a person within the route's list, who can answer it then as well.

    ``to``: their id on the ask's surface, or ``person:`` and a name in the directory of people.
    """

    action: Literal["hand_over"]
    to: Annotated[str, Field(min_length=1, max_length=200)]


class EndTurnBody(_Acting):
    """End the ask and the agent's turn."""

    action: Literal["end_turn"]


ActionModel = (
    AnswerBody
    | OtherBody
    | BackBody
    | EditBody
    | SubmitBody
    | NextBody
    | AskBackBody
    | ReplyBody
    | ConfirmBody
    | ObjectBody
    | EndTurnBody
    | HandOverBody
)


ACTIONS: Final[Mapping[str, type[ActionModel]]] = {
    name: model
    for model in get_args(ActionModel)
    for name in get_args(model.model_fields["action"].annotation)
}


def files_of(body: ActionModel) -> tuple[str, ...]:
    """Return the ids of the files that come with an action."""
    return body.files if isinstance(body, _WithFiles) else ()


_WITHOUT_INPUT: Final = {
    each.action: each for each in (Back(), Next(), Submit(), Confirm(), EndTurn())
}


def action_from_body(body: ActionModel) -> ResolvedAction:
    match body:
        case AnswerBody() if body.written_edit is not None:
            return AllowEdited(
                value=body.value,
                edited=body.written_edit,
                note=body.note,
                lasts=body.remember or body.grant is not None,
            )
        case AnswerBody():
            grant = None if body.grant is None else GrantTerms(**body.grant.model_dump())
            return Answer(
                value=body.value,
                remember=body.remember,
                note=body.note,
                grant=grant,
                unseen=body.unseen,
            )
        case OtherBody():
            return Other(text=body.text, value=body.value)
        case EditBody():
            return Edit(question_id=body.question_id)
        case AskBackBody():
            return AskBack(text=body.text)
        case ReplyBody():
            return Reply(text=body.text)
        case HandOverBody():
            return HandOver(to=body.to)
        case ObjectBody():
            return Object(text=body.text)
        case BackBody() | NextBody() | SubmitBody() | ConfirmBody() | EndTurnBody():
            return _WITHOUT_INPUT[body.action]
        case _:
            assert_never(body)


class ActionBody(RootModel[Any]):
    """One action by a responder."""

    model_config = ConfigDict(defer_build=True)
    """Only the API's description needs the model of all together."""
    root: Annotated[ActionModel, Field(discriminator="action")]


class RetryBody(Wire):
    """A person's message to the agent."""

    text: str | None = None
    actor: ActorBody | None = None


class BatchItem(Wire):
    """An ask, and the revision that the person saw."""

    id: Annotated[str, Field(max_length=200)]
    revision: Annotated[int, Field(strict=True)]


def _check_unique(asks: tuple[BatchItem, ...]) -> tuple[BatchItem, ...]:
    if len({each.id for each in asks}) < len(asks):
        raise ValueError("an ask is named twice")
    return asks


class BatchBody(Wire):
    """One decision about several permissions."""

    asks: Annotated[
        tuple[BatchItem, ...],
        Field(min_length=1, max_length=MAX_BATCH),
        AfterValidator(_check_unique),
    ]
    decision: Literal["allow_once", "deny"]
    actor: ActorBody | None = None

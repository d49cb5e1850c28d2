"""The request of an agent: its form, its limits, and the escalation if nobody answers. Values only."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import ConfigDict, Field, JsonValue

from answerback.core.edited_call import EditableCall
from answerback.core.files import AttachedFile
from answerback.core.form import Form
from answerback.core.grants import GrantOffer
from answerback.core.origin import UNKNOWN_ASKER, Origin
from answerback.core.person import FrozenModel
from answerback.core.placement import Destination
from answerback.core.urgency import RouteMark, Urgency

DEFAULT_ASKER: Final = UNKNOWN_ASKER


class Escalation(FrozenModel):
    """The rule for when nobody has answered after ``after`` seconds: show the ask elsewhere, let others act, or
    both."""

    after: float
    to: Destination | None = None
    responders: tuple[str, ...] = ()
    confirmers: tuple[str, ...] = ()
    """Who may confirm there, if not whoever may answer."""
    confirmers_elsewhere: tuple[str, ...] = ()


_STORED_NAMES: Final = {
    "allowed_recipients": "ceiling",
    "ends_with_caller": "leased",
    "hook": "carrier",
    "repeat_key": "join",
}
"""The fields that rows have under the names that they were first stored with."""


class StoredModel(FrozenModel):
    """A part of a request: JSON has its fields under their stored names."""

    model_config = ConfigDict(
        alias_generator=lambda name: _STORED_NAMES.get(name, name),
        validate_by_name=True,
        serialize_by_alias=True,
    )


class OtherAccount(StoredModel):
    """Where a person is asked if nobody can be reached at the account before, and what holds for the ask there."""

    destination: Destination
    responders: tuple[str, ...]
    confirmers: tuple[str, ...] = ()
    confirmers_elsewhere: tuple[str, ...] = ()
    allowed_recipients: tuple[str, ...] | None = None
    escalation: Escalation | None = None


class Request(StoredModel):
    """The request of an agent as it was accepted. It never changes."""

    name: str
    dialect: str
    arguments: dict[str, JsonValue]
    form: Form
    repaired: tuple[str, ...] = ()
    """JSON pointers to the ``arguments`` that were sent in another form than this strict one."""
    sent: dict[str, JsonValue] | None = None
    """The arguments as they were sent; None: in the strict form."""
    agent: str | None = None
    callback: str | None = None
    conversation: str | None = None
    turn: str | None = None
    tool_call_id: str | None = None
    on_expiry: Literal["cancel", "defaults"] = "cancel"
    remind_after: tuple[float, ...] = ()
    push_after: float = 10.0
    """Seconds within which an answer spares people the notification."""
    escalation: Escalation | None = None
    """Holds at the first destination, as ``allowed_recipients`` does; see `answerback.core.ask.Ask.escalation`."""
    other_accounts: tuple[OtherAccount, ...] = ()
    """The accounts of the agent's owner besides the one that is asked first."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    prompt_label: str = DEFAULT_ASKER
    """The agent's display name; see `answerback.core.view.asker_label`."""
    prompt_labels: dict[str, str] = Field(default_factory=dict)
    """The configured display name of the asker of single questions, by question id."""
    mention: bool = False
    """True if the first post notifies the responders."""
    accepts: tuple[Literal["clarify"], ...] = ()
    """The abilities of the agent. ``clarify``: people may ask it to explain."""
    mode: Literal["wait", "async"] = "wait"
    """``async``: the agent continues at once and gets the result later."""
    repeat_key: str | None = None
    """The key of the calls that repeat this one; see `answerback.service.repeated_calls`."""
    origin: Origin = Origin()
    grants: GrantOffer | None = None
    """The grants that may be made for it; None: none may."""
    editable: tuple[EditableCall, ...] = ()
    """The calls that people may change before they allow them; empty: none."""
    route: str | None = None
    """The configured route that it took; None: a place."""
    mark: RouteMark | None = None
    """The mark of that route, as it was then."""
    urgency: Urgency = Urgency.NORMAL
    hook: str | None = None
    """The hook that put the ask for a call of its host; None: an agent submitted it. A submission cannot set it."""
    allowed_recipients: tuple[str, ...] | None = None
    """The ids of those to whom responders may hand it over, by its route; None: to nobody."""
    ends_with_caller: bool = False
    """True if the ask ends once its agent no longer waits, because the host gives up along with what carries the
    answer."""
    files: tuple[AttachedFile, ...] = ()
    """The files that came with the call, in its order."""
    trace: dict[str, str] = Field(default_factory=dict)
    """The W3C context of its trace: ``traceparent`` and ``tracestate``. Empty: it is not traced."""

    @property
    def as_sent(self) -> dict[str, JsonValue]:
        """The arguments as the agent sent them."""
        return self.arguments if self.sent is None else self.sent


class ToolResult(FrozenModel):
    """The tool result that goes back to the model."""

    content: str
    structured: JsonValue
    is_error: bool = False

"""Every error that crosses a module boundary, and problems with a person's or caller's input as plain values.

The tree::

    AnswerbackError
    ├── ProblemError(status)          a caller's error; becomes application/problem+json
    │   └── InvalidCallError          the tool call itself is invalid; lists every problem (422)
    │       └── DeclinedCallError     the call is valid, but declined for what is around it (422, 429)
    ├── PlatformError                 a chat platform failed; adapters translate their SDK's exceptions
    │   ├── RateLimitedError          try again after ``retry_after`` seconds
    │   ├── UnauthorizedError         the credentials are refused; a person must fix them
    │   │   └── ForbiddenError        the credentials are valid, but do not allow this at this place
    │   ├── DestinationGoneError      the channel, thread or person is permanently unreachable
    │   ├── PayloadRejectedError      the platform rejects what we rendered: our defect
    │   └── PlatformUnavailableError  no answer or a server error: it may have acted; try again
    │       └── NotDoneError          the platform certainly did nothing; try again
    ├── StoreError                    the database failed; nothing was stored
    │   ├── CommitUnknownError        a COMMIT failed: it may or may not be on disk
    │   ├── LeaseLostError            the caller no longer holds the lease it acts under
    │   ├── UnreadableRowError        one row cannot be read; all others can
    │   └── DatabaseTooNewError       the file was written by a newer Answerback
    ├── IdempotencyKeyReusedError     an idempotency key was used before with another request; nothing was done
    ├── InquiryError                  the configured inquiry backend gave no usable answer
    └── ConfigError                   the configuration is invalid; names the key and the remedy

A person's error (a late click, an invalid answer, another person's question) is not an exception but a returned
`Rejected`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue

from answerback_base.base_error import AnswerbackError as AnswerbackError
from answerback_base.base_error import StoreError as StoreError


def _as_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


NO_RETRY: Final = "Do not retry this tool call"
"""In the message of a failed ask, the start of the advice for the model; before it is what happened."""
_Text = Annotated[str, BeforeValidator(_as_text)]
"""Text that may quote the input: half a surrogate pair, which cannot be encoded, is written as its escape."""


class Problem(BaseModel):
    """One error in the input: where (a JSON pointer), which kind (a code), and a message that says how to fix it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pointer: _Text
    code: str
    message: _Text


class ProblemError(AnswerbackError):
    """An error by the caller.

    Args:
        status: the HTTP status of the response.
        title: what is wrong, in one line.
        detail: where, and what to do next.
        problems: the individual problems, if there are several.
        more: further members of the problem document.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str | None = None,
        problems: Sequence[Problem] = (),
        *,
        more: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.title = title
        self.detail = detail
        self.problems = tuple(problems)
        self.more = more or {}


class InvalidCallError(ProblemError):
    """A tool call that cannot be shown to people, with every problem in document order.

    Args:
        tool: the tool's name as called, for the title.
        problems: every problem found.
        dialect: the dialect that read the call, or None if none was recognised.
    """

    def __init__(self, tool: str, problems: Sequence[Problem], dialect: str | None = None) -> None:
        super().__init__(422, f"Invalid {tool} call", None, problems)
        self.tool = tool
        self.dialect = dialect


class DeclinedCallError(InvalidCallError):
    """A valid tool call that is declined for what is around it; its model gets a result that says what to do.

    Args:
        title: why it is declined, in one line.
        problem: why, in full.
        result: the tool result, as JSON.
        reason: why the call's question is cancelled, for the record.
        retry_after: seconds after which the same call may be accepted (then this is a 429); None: not by itself.
    """

    def __init__(
        self,
        tool: str,
        title: str,
        problem: Problem,
        dialect: str,
        result: dict[str, JsonValue],
        *,
        reason: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(tool, [problem], dialect)
        self.status = 422 if retry_after is None else 429
        self.title = title
        self.detail = problem.message
        self.result = result
        self.reason = reason
        self.retry_after = retry_after


class TooManyFilesError(ProblemError):
    """An agent has uploaded too many files that no ask has named, or a person that no answer has.

    Args:
        retry_after: seconds after which it may try again.
    """

    def __init__(self, limit: int, retry_after: int, *, of_agent: bool = True) -> None:
        detail = (
            f"You have uploaded {limit} files that no ask has named yet (limits.unclaimed_files). Submit the asks that "
            "they are for, or wait: what no ask names within an hour is deleted."
            if of_agent
            else f"You have attached {limit} files that you have not sent yet. Send your answers, or wait: what is not "
            "sent within an hour is deleted."
        )
        super().__init__(429, "Too many files", detail)
        self.retry_after = retry_after


class PlatformError(AnswerbackError):
    """A chat platform failed. ``code`` is the platform's own error code, for the log and the operator."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class RateLimitedError(PlatformError):
    """The platform asks us to wait ``retry_after`` seconds. ``alone``: the limit is for this message only."""

    def __init__(
        self, message: str, *, retry_after: float, code: str | None = None, alone: bool = False
    ) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after
        self.alone = alone


class UnauthorizedError(PlatformError):
    """The platform refuses our credentials, or they lack a scope: only the operator can fix it."""


class ForbiddenError(UnauthorizedError):
    """The credentials are valid, but a permission is missing at this place."""


class DestinationGoneError(PlatformError):
    """The place or person is permanently unreachable."""


class PayloadRejectedError(PlatformError):
    """The platform rejects the payload that we rendered, even as plain text."""


class PlatformUnavailableError(PlatformError):
    """The platform did not answer or reported a failure of its own; it is unknown whether it acted."""


class NotDoneError(PlatformUnavailableError):
    """The platform is unavailable and has certainly not acted, so there is no need to search for the message."""


class CommitUnknownError(StoreError):
    """A COMMIT failed, so the transaction may or may not be on disk. Read again before trying again."""


class LeaseLostError(StoreError):
    """The caller no longer holds the lease that it acts under; nothing was changed."""

    def __init__(self, lease: str) -> None:
        super().__init__(
            f"The lease {lease} was lost in the meantime, so nothing was changed. Its new holder does the rest."
        )


class UnreadableRowError(StoreError):
    """One row cannot be read. Only callers that need this row get the error; all others continue without it."""


class DatabaseTooNewError(StoreError):
    """The database was written by a newer Answerback than this one."""


class IdempotencyKeyReusedError(AnswerbackError):
    """The idempotency key was used before with a different request; nothing was done."""


class InquiryError(AnswerbackError):
    """The inquiry backend gave no answer, or none that fits the question."""


class ConfigError(AnswerbackError):
    """The configuration is invalid; the message names the key and says what to do."""

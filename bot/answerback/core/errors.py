"""Every error that crosses a module's border, and what a person or caller did wrong as plain values.

The tree::

    AnswerbackError
    ├── ProblemError(status)          a caller's mistake; becomes application/problem+json
    │   └── InvalidCallError          the tool call itself is wrong: every mistake at once (422)
    ├── PlatformError                 a chat platform failed; adapters translate their SDK's exceptions
    │   ├── RateLimitedError          come back after ``retry_after`` seconds
    │   ├── UnauthorizedError         the credentials are refused; a person must fix them
    │   │   └── ForbiddenError        they are good, and this one place is closed to them
    │   ├── DestinationGoneError      the channel, thread or person cannot be reached for good
    │   ├── PayloadRejectedError      the platform refuses what we rendered: our defect
    │   └── PlatformUnavailableError  lost, late or broken: nobody knows whether it happened; try again
    │       └── NotDoneError          it is certain that nothing happened; try again
    ├── StoreError                    the database failed; nothing of what was asked is stored
    │   ├── CommitUnknownError        a COMMIT failed: it may or may not be on disk
    │   ├── LeaseLostError            whoever acts has lost the lease under which it acts
    │   ├── UnreadableRowError        one row cannot be read; every other can
    │   └── DatabaseTooNewError       the file was written by a newer Answerback
    ├── IdempotencyKeyReusedError     an idempotency key came before, with something else; nothing was done
    ├── InquiryError                  the configured inquiry backend gave no usable answer
    └── ConfigError                   the configuration is wrong; says which key and what to do

A person's mistake (a late click, a value that is no answer, somebody else's question) is no
exception: it is a returned `Rejected`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from answerback.core.base_error import AnswerbackError as AnswerbackError


def _as_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


_Text = Annotated[str, BeforeValidator(_as_text)]
"""Words that quote what was sent: half a surrogate pair, which nothing can carry, is written as its escape."""


class Problem(BaseModel):
    """One mistake in what was sent: where (a JSON pointer), which kind, and words that say how to fix it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pointer: _Text
    code: str
    message: _Text


class ProblemError(AnswerbackError):
    """A caller's mistake.

    Args:
        status: the HTTP status that tells it.
        title: one line: what is wrong.
        detail: where, and what to do next.
        problems: the single mistakes, where there are several.
    """

    def __init__(
        self, status: int, title: str, detail: str | None = None, problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.title = title
        self.detail = detail
        self.problems = tuple(problems)


class InvalidCallError(ProblemError):
    """A tool call that cannot be shown to anybody, with every mistake in document order.

    Args:
        tool: the tool's name as called, for the title.
        problems: every mistake found.
        dialect: the dialect that read the call, or None when none was recognised.
    """

    def __init__(self, tool: str, problems: Sequence[Problem], dialect: str | None = None) -> None:
        super().__init__(422, f"Invalid {tool} call", None, problems)
        self.tool = tool
        self.dialect = dialect


class PlatformError(AnswerbackError):
    """A chat platform failed. ``code`` is the platform's own word for it, for the log and the operator."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class RateLimitedError(PlatformError):
    """The platform wants us to wait ``retry_after`` seconds. ``alone``: with this one message, and no other."""

    def __init__(
        self, message: str, *, retry_after: float, code: str | None = None, alone: bool = False
    ) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after
        self.alone = alone


class UnauthorizedError(PlatformError):
    """The platform refuses our credentials or lacks a scope: only the operator can fix it."""


class ForbiddenError(UnauthorizedError):
    """The platform lets us do other things, and not this here: a permission is missing at this place."""


class DestinationGoneError(PlatformError):
    """The place or person cannot be reached, now or later."""


class PayloadRejectedError(PlatformError):
    """The platform refuses the payload that we rendered, even as plain text."""


class PlatformUnavailableError(PlatformError):
    """The platform did not answer, or answered that it is broken; whether it acted is unknown."""


class NotDoneError(PlatformUnavailableError):
    """The platform cannot do it now, and has certainly not done it: what was not sent needs no search."""


class StoreError(AnswerbackError):
    """The database could not do what was asked. Except for `CommitUnknownError`, nothing of it is stored."""


class CommitUnknownError(StoreError):
    """A COMMIT failed: what it held may or may not be on disk. Read again before trying again."""


class LeaseLostError(StoreError):
    """Whoever acts has lost the lease under which it acts: nothing is changed."""

    def __init__(self, lease: str) -> None:
        super().__init__(
            f"The lease {lease} was lost meanwhile, so nothing was changed. Whoever holds it now does the rest."
        )


class UnreadableRowError(StoreError):
    """What one row holds cannot be read: whoever wants it is told so, and everybody else goes on without it."""


class DatabaseTooNewError(StoreError):
    """The database was written by a newer Answerback than this one."""


class IdempotencyKeyReusedError(AnswerbackError):
    """An idempotency key came before, with something else: nothing was done."""


class InquiryError(AnswerbackError):
    """The inquiry backend did not answer, or not with an answer to the question."""


class ConfigError(AnswerbackError):
    """The configuration is wrong; the message names the key and what to do."""

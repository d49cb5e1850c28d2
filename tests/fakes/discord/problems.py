"""The fake's error messages: single problems with a body, and refusals of a whole request.

The shape of the answers is Discord's own: https://docs.discord.com/developers/reference#error-messages and
https://docs.discord.com/developers/topics/opcodes-and-status-codes#json.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

# The wire carries any JSON: this fake checks it by the published document, not by Python types.
Payload: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

REFUSALS: dict[int, tuple[int, str]] = {
    0: (401, "401: Unauthorized"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10014: (404, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    20028: (429, "The channel you are writing has hit the write rate limit"),
    20029: (429, "The write action you are performing on the server has hit the write rate limit"),
    30046: (429, "Maximum number of edits to messages older than 1 hour reached. Try again later."),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    40067: (400, "A tag is required to create a forum post in this channel"),
    40333: (403, "internal network error"),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    130000: (503, "API resource is currently overloaded. Try again a little later"),
    160002: (403, "You cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160005: (403, "Thread is locked"),
    160006: (400, "Maximum number of active threads reached"),
    200000: (400, "Message was blocked by automatic moderation"),
    240000: (400, "Message blocked by harmful links filter"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with a body: where it is, which rule it breaks, and a message."""

    path: Path
    code: str
    message: str

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{place.lstrip('.') or 'body'}: {self.message} ({self.code})"


def error_tree(problems: Sequence[Problem]) -> Payload:
    """The `errors` object of an Invalid Form Body answer."""
    tree: Payload = {}
    for problem in problems:
        node = tree
        for step in problem.path:
            node = node.setdefault(str(step), {})
        node.setdefault("_errors", []).append({"code": problem.code, "message": problem.message})
    return tree


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that Discord would answer with an error; `code` is Discord's JSON error code."""

    code: int
    problems: Sequence[Problem] = ()
    status: int | None = None
    extra: Payload = field(default_factory=dict)

    def answer(self) -> tuple[int, Payload]:
        """The HTTP status and the JSON body of the refusal."""
        status, message = REFUSALS.get(self.code, (400, f"Error {self.code}"))
        body: Payload = {"message": message, "code": self.code, **self.extra}
        if self.problems:
            body["errors"] = error_tree(self.problems)
        status = self.status or status
        if status == 429:
            body = {"retry_after": 1.0, "global": False, **body}
        return status, body


def invalid(path: Path, code: str, message: str) -> RefusalError:
    """An Invalid Form Body refusal with a single problem."""
    return RefusalError(50035, [Problem(path, code, message)])

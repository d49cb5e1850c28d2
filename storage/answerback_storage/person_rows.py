"""Conversion between what belongs to people and rows: notified browsers, sign-ins and tokens of agents. Runs no
statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from answerback.ports.agent_tokens import AgentToken, SignIn, account_of
from answerback.ports.push import PushSubscription
from answerback_storage import rows
from answerback_storage.rows import Row

SIGN_IN_COLUMNS: Final = "id, device_hash, user_hash, address, at, until, value"
TOKEN_COLUMNS: Final = "token_hash, name, owner, at, until, value"
_SIGN_IN: Final = TypeAdapter(SignIn)
_TOKEN: Final = TypeAdapter(AgentToken)
_SUBSCRIPTION: Final = TypeAdapter(PushSubscription)


def dump_sign_in(sign_in: SignIn) -> str:
    """Serialize a sign-in. The same sign-in always becomes the same text, by which changes are detected."""
    canonical = _SIGN_IN.validate_python(_SIGN_IN.dump_python(sign_in))  # 5 is written as 5.0
    return to_json(_SIGN_IN.dump_python(canonical)).decode()


def sign_in_row(new: SignIn) -> Row:
    """Return a sign-in as `SIGN_IN_COLUMNS`."""
    ids = (new.id, new.device_hash, new.user_hash)
    return (*ids, new.asked_by.address, new.at, new.until, dump_sign_in(new))


def read_sign_in(value: str) -> SignIn:
    """Parse a stored sign-in."""
    return _SIGN_IN.validate_json(value)


def token_row(new: AgentToken) -> Row:
    """Return a token as `TOKEN_COLUMNS`."""
    value = to_json(_TOKEN.dump_python(new)).decode()
    return (new.token_hash, new.name, account_of(new.owner), new.at, new.until, value)


def read_token(value: str, until: float) -> AgentToken:
    """Parse a stored token. Its end is in its own column, because it moves when the clock is set back."""
    return _TOKEN.validate_python(from_json(value) | {"until": until})


def dump_subscription(subscription: PushSubscription) -> str:
    """Serialize a push subscription as JSON text."""
    return rows.dump(_SUBSCRIPTION.dump_python(subscription))


def read_subscriptions(values: Iterable[bytes]) -> list[PushSubscription]:
    """Read stored push subscriptions, without those that cannot be read."""
    found = [rows.read_value(value, "push_subscriptions") for value in values]
    return [_SUBSCRIPTION.validate_python(each[0]) for each in found if each is not None]

"""Conversion between push subscriptions and rows. Runs no statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import TypeAdapter

from answerback.ports.push import PushSubscription
from answerback_storage import rows

_SUBSCRIPTION: Final = TypeAdapter(PushSubscription)


def dump(subscription: PushSubscription) -> str:
    """Serialize a push subscription as JSON text."""
    return rows.dump(_SUBSCRIPTION.dump_python(subscription))


def read(values: Iterable[bytes]) -> list[PushSubscription]:
    """Read stored push subscriptions, without those that cannot be read."""
    found = [rows.read_value(value, "push_subscriptions") for value in values]
    return [_SUBSCRIPTION.validate_python(each[0]) for each in found if each is not None]

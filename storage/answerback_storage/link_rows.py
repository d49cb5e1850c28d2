"""Conversion between linked accounts and rows. Runs no statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import TypeAdapter

from answerback.core.people import AccountLink
from answerback_storage import rows
from answerback_storage.rows import Row

_LINK: Final = TypeAdapter(AccountLink)
COLUMNS: Final = "account, revision, value"


def row(link: AccountLink) -> Row:
    """Return the columns of a link."""
    return (link.id, link.revision, rows.dump(_LINK.dump_python(link, mode="json")))


def read(values: Iterable[bytes]) -> list[AccountLink]:
    """Read stored links, without those that cannot be read."""
    found = [rows.read_value(value, "account_links") for value in values]
    return [_LINK.validate_python(each[0]) for each in found if each is not None]

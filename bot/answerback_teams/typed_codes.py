"""Short codes that a person reads in one place and types in another: of sign-ins, and of links between accounts."""

from __future__ import annotations

import re
import secrets
from typing import Final

CODE_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants, so that codes form no words, and none that is easily mistaken for another (RFC 8628, section 6.1)."""
_LENGTH: Final = 8
_MAX_TYPED: Final = 100
"""Characters that are looked at of what a person types."""


def random_letters(count: int) -> str:
    """Return letters that nobody can guess."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(count))


def new_code() -> str:
    """Return a new code as people read it, such as ``BCDF-GHJK``."""
    return read_code(random_letters(_LENGTH))


def read_code(typed: str) -> str:
    """Return a code as a person types it, in any case and with any spaces and dashes, as it was shown."""
    letters = re.sub("[^A-Z]", "", typed[:_MAX_TYPED].upper())
    return f"{letters[: _LENGTH // 2]}-{letters[_LENGTH // 2 :]}"

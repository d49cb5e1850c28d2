"""A newcomer's set-up, as the page about a chat describes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple


class Newcomer(NamedTuple):
    """Somebody with an account, a bot and a place to ask in."""

    until: str
    """The heading up to which they follow the page."""
    filled_in: Mapping[str, str]
    """The values that they write in place of the page's placeholders."""
    variables: Mapping[str, str]
    answer: Callable[[float], Awaitable[object]]
    """Waits for the question, so many seconds at most, and presses Yes."""
    library_warns: bool = False
    """True if the platform's library warns of what is not used here, such as voice."""

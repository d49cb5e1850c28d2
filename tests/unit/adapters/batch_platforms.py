"""The parts of each chat, its module ``batch_lists``, that tests of lists with joint decisions on permissions need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from answerback.core.ask import Ask
from answerback.presentation.batch_rows import BatchRow
from answerback.runtime.plugins import installed_plugins


class ListedOn(NamedTuple):
    """A platform's list: how many asks are on a page, its rows, and a check that the platform takes the page."""

    size: int
    rows: Callable[[list[Ask]], list[BatchRow[Any]]]
    check: Callable[[list[Ask], bool], str]
    """Returns what is shown; fails if the platform would refuse it."""


class Lists(Protocol):
    """A person of `answerback_testing.simulated_people.HasBatches`, with the parts that these tests need."""

    async def list_tickable(self, *, allow: bool) -> Mapping[str, str]: ...

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str: ...


class Town(NamedTuple):
    """A platform that outlives the process, and a person there."""

    environment: dict[str, str]
    place: str
    user_id: str
    lists: Lists
    seconds: float = 0.1
    """Seconds that ticking and deciding take about."""


PLATFORMS: Final[dict[str, Any]] = {
    plugin.name: import_module(f"tests.unit.adapters.{plugin.name}.batch_lists")
    for plugin in installed_plugins()
    if Path(__file__).with_name(plugin.name).joinpath("batch_lists.py").is_file()
}
"""The module of each chat, which has `LISTED` and `run_town`, by the surface's name."""

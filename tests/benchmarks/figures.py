"""The table of a benchmark: who was measured, and how that compares with a baseline of the same rounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.table import Table


class Figures:
    """Rows of medians. A ratio is the median of the rounds' ratios, if there are as many rounds of both."""

    def __init__(self, title: str) -> None:
        self._table = Table("figure", "who", "measured", "ratio", title=title)
        self.found: dict[tuple[str, str], tuple[float, float | None]] = {}
        """By figure and who: what was measured, and its ratio to the baseline if there is one."""

    def add(
        self,
        figure: str,
        who: str,
        found: Sequence[float],
        unit: str,
        base: Sequence[float] = (),
        of: str = "",
    ) -> None:
        """Add a row, with its ratio to a baseline if there is one."""
        middle = median(found)
        digits = 0 if middle >= 100 else 2
        ratio = _ratio(found, base) if base and all(base) and base is not found else None
        self.found[figure, who] = middle, ratio
        shown = "" if ratio is None else f"{ratio:.2f} × {of}"
        self._table.add_row(figure, who, f"{middle:,.{digits}f} {unit}", shown)

    def print(self) -> None:
        """Print the rows."""
        Console(width=120).print(self._table)


def _ratio(found: Sequence[float], base: Sequence[float]) -> float:
    if len(found) == len(base):
        return median(each / least for each, least in zip(found, base, strict=True))
    return median(found) / median(base)

"""The vectors of all dialects: those of our own are in `tests/data/vectors`, those of a host in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tests.meta.project import ROOT

OWN: Final = ROOT / "tests" / "data" / "vectors"


class Vectors(NamedTuple):
    """A file of cases."""

    dialect: str
    """The dialect that all of them have; `detection`: each has another."""
    path: Path


ALL: Final = (
    *(Vectors(each.stem.removesuffix("_more"), each) for each in sorted(OWN.glob("*.json"))),
    *(
        Vectors(each.parents[1].name, each)
        for each in sorted((ROOT / "bot/answerback_hosts").glob("*/recorded/vectors*.json"))
    ),
)

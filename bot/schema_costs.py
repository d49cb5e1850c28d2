"""What checking a value against a JSON Schema costs at most, counted before anything is checked; pure.

The engine that checks values holds the interpreter's lock while it does, so no thread keeps the event loop free
of it: a check has to be short. Two numbers bound it. The first counts the schemas, and the pieces of data in ``enum``,
``const`` and ``required``, that can apply along one path through a value; times the number of nodes in the value it
bounds the comparisons. The second counts the bytes of compiled patterns along such a path; times the bytes of text in
the value it bounds the steps of matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from bot import subschemas

MOST: Final = 500_000
"""Comparisons for one check: 20 ms at the 40 ns that the dearest of them (objects in ``enum``) was measured to take."""
_BYTES_PER_COMPARISON: Final = 400
"""Bytes of pattern times bytes of text that are matched in the time of one comparison: 0.1 ns each, measured."""
_FORMAT: Final = 250
"""What checking a ``format`` costs, as bytes of a pattern: the dearest (``idn-hostname``) takes 25 ns a byte."""
_ONE_EACH: Final = frozenset({"properties", "prefixItems", "items"})
"""Keywords of whose schemas one applies to each part of a value."""
_DATA: Final = ("enum", "const", "required", "dependentRequired")
_MOST_COUNTED: Final = 5_000
"""Pairs of schema and depth that are counted before a schema is called too complex."""


class TooComplexError(ValueError):
    """Even counting what a check may cost would take too long."""


class Size(NamedTuple):
    """How large a JSON value is."""

    depth: int
    nodes: int


def size(value: object, limit: int) -> Size:
    """The size of a JSON value; nothing deeper than ``limit + 1`` levels is looked at."""
    layer: list[object] = [value]
    nodes = 0
    for level in range(limit + 1):
        nodes += len(layer)
        layer = [child for node in layer for child in _parts(node)]
        if not layer:
            return Size(level, nodes)
    return Size(limit + 1, nodes)


class Path(NamedTuple):
    """What can apply along one path through a value."""

    comparisons: int
    pattern_bytes: int

    def cost(self, nodes: int, text_bytes: int) -> int:
        """The cost of checking a value of this size, in comparisons."""
        return self.comparisons * nodes + self.pattern_bytes * text_bytes // _BYTES_PER_COMPARISON


class Costs:
    """Counts for one schema.

    Args:
        pattern_bytes: what one of its patterns takes when it is compiled.
    """

    def __init__(self, root: object, pattern_bytes: int) -> None:
        self._root = root
        self._pattern = pattern_bytes
        self._counted: dict[tuple[int, int], Path] = {}
        self._shapes: dict[int, _Shape] = {}

    def path(self, depth: int) -> Path:
        """What can apply along one path through a value that is nested so deep.

        Raises:
            TooComplexError: it cannot be counted within bounds.
        """
        try:
            return self._count(self._root, depth)
        except RecursionError as error:
            raise TooComplexError from error

    def _count(self, node: object, left: int) -> Path:
        if not isinstance(node, Mapping):
            return Path(1, 1)
        place = (id(node), left)
        if place not in self._counted:
            if len(self._counted) >= _MOST_COUNTED:
                raise TooComplexError
            self._counted[place] = Path(
                1, 1
            )  # a cycle that stays on the same value is followed once
            self._counted[place] = self._below(node, left)
        return self._counted[place]

    def _below(self, node: Mapping[str, object], left: int) -> Path:
        own, here, parts = self._shape(node)
        found = [own, *(self._count(child, left) for child in here)]
        if left > 0:
            for one_each, children in parts:
                counts = [self._count(child, left - 1) for child in children]
                found += [_largest(counts)] if counts and one_each else counts
        # Capped, or the numbers themselves would double at every level.
        return Path(
            min(sum(one.comparisons for one in found), MOST + 1),
            min(sum(one.pattern_bytes for one in found), MOST * _BYTES_PER_COMPARISON + 1),
        )

    def _shape(self, node: Mapping[str, object]) -> _Shape:
        """What of a schema does not depend on the depth of a value."""
        if id(node) not in self._shapes:
            here = list(subschemas.targets(self._root, node))
            parts: list[tuple[bool, list[object]]] = []
            for word, held in subschemas.children(node):
                if word in subschemas.IN_PLACE:
                    here += held
                elif word not in subschemas.DEFINITIONS:
                    parts.append((word in _ONE_EACH, held))
            self._shapes[id(node)] = _Shape(self._own(node), here, parts)
        return self._shapes[id(node)]

    def _own(self, node: Mapping[str, object]) -> Path:
        data = sum(size(node[word], 64).nodes for word in _DATA if word in node)
        by_pattern = node.get("patternProperties")
        patterns = ("pattern" in node) + (len(by_pattern) if isinstance(by_pattern, Mapping) else 0)
        return Path(1 + data, 1 + patterns * self._pattern + ("format" in node) * _FORMAT)


class _Shape(NamedTuple):
    own: Path
    here: list[object]
    """The schemas that apply to the same value."""
    parts: list[tuple[bool, list[object]]]
    """Those that apply to its parts, by keyword; whether one of them applies to each part."""


def _largest(paths: list[Path]) -> Path:
    return Path(max(one.comparisons for one in paths), max(one.pattern_bytes for one in paths))


def _parts(node: object) -> list[object]:
    if isinstance(node, Mapping):
        return list(node.values())
    return node if isinstance(node, list) else []

"""What checking a value against a JSON Schema costs at most, counted before anything is checked; pure.

The engine that checks values holds the interpreter's lock while it does, so no thread keeps the event loop free
of it: a check has to be short. Two numbers bound it, counted for each level of nesting in a value. One is of the
schemas, and the pieces of data in ``enum``, ``const`` and ``required``, that can apply to a single node there; times
the nodes of that level it bounds the comparisons. The other is of the bytes of compiled patterns that can apply to a
single node; times the bytes of text in the value it bounds the steps of matching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Final, NamedTuple

from answerback.core.json_schema import subschemas

MAX_COST: Final = 500_000
"""Comparisons for one check: 20 ms at the 40 ns that the dearest of them (objects in ``enum``) was measured to take."""
_BYTES_PER_COMPARISON: Final = 400
"""Bytes of pattern times bytes of text that are matched in the time of one comparison: 0.1 ns each, measured."""
_CAP: Final = MAX_COST * _BYTES_PER_COMPARISON + 1
_FORMAT: Final = 250
"""What checking a ``format`` costs, as bytes of a pattern: the dearest (``idn-hostname``) takes 25 ns a byte."""
_ONE_EACH: Final = frozenset({"properties", "prefixItems", "items"})
"""Keywords of whose schemas one applies to each part of a value."""
_VALUES: Final = ("enum", "const")
_NAMES: Final = ("required", "dependentRequired")
_NUMBER: Final = 40
"""Comparisons that one of two numbers counts for: the engine compares them exactly, in up to 1.5 µs."""
_NUMBERS: Final = {
    "multipleOf": 450,
    "minimum": 25,
    "maximum": 25,
    "exclusiveMinimum": 25,
    "exclusiveMaximum": 25,
    "uniqueItems": 3,
}
"""Keywords that cost more than a comparison, as measured."""
_MOST_COUNTED: Final = 10_000
"""Numbers that are added up before a schema is called too complex."""


class TooComplexError(ValueError):
    """Even counting what a check may cost would take too long."""


class Size(NamedTuple):
    """How large a JSON value is."""

    depth: int
    levels: tuple[int, ...]
    """How many values there are at each level of nesting."""

    @property
    def nodes(self) -> int:
        """How many values there are in all."""
        return sum(self.levels)


def size(value: object, limit: int) -> Size:
    """The size of a JSON value; nothing deeper than ``limit + 1`` levels is looked at."""
    layer: list[object] = [value]
    levels: list[int] = []
    for level in range(limit + 1):
        levels.append(len(layer))
        layer = [child for node in layer for child in _parts(node)]
        if not layer:
            return Size(level, tuple(levels))
    return Size(limit + 1, tuple(levels))


class LevelCosts(NamedTuple):
    """What can apply to one node, for each level from some level on."""

    comparisons: list[int]
    pattern_bytes: list[int]

    def cost(self, levels: tuple[int, ...], text_bytes: int) -> int:
        """The cost of checking a value with so many nodes at its levels, in comparisons."""
        compared = sum(most * nodes for most, nodes in zip(self.comparisons, levels, strict=False))
        return compared + max(self.pattern_bytes) * text_bytes // _BYTES_PER_COMPARISON


class CostEstimator:
    """Counts for one schema.

    Args:
        pattern_bytes: what one of its patterns takes when it is compiled.
    """

    def __init__(self, root: object, pattern_bytes: int) -> None:
        self._root = root
        self._pattern = pattern_bytes
        self._counted: dict[tuple[int, int], LevelCosts] = {}
        self._shapes: dict[int, _Shape] = {}
        self._added = 0

    def level_costs(self, depth: int) -> LevelCosts:
        """What can apply to the nodes of a value that is nested so deep.

        Raises:
            TooComplexError: it cannot be counted within bounds.
        """
        self._added = 0
        try:
            return self._count(self._root, depth)
        except RecursionError as error:
            raise TooComplexError from error
        finally:
            self._counted.clear()

    def _count(self, node: object, left: int) -> LevelCosts:
        if not isinstance(node, Mapping):
            return _TRIVIAL
        place = (id(node), left)
        if place not in self._counted:
            self._added += left + 1
            if self._added > _MOST_COUNTED:
                raise TooComplexError
            self._counted[place] = _TRIVIAL  # a cycle that stays on the same value is followed once
            self._counted[place] = self._below(node, left)
        return self._counted[place]

    def _below(self, node: Mapping[str, object], left: int) -> LevelCosts:
        own, here, parts = self._shape(node)
        found = [own, *(self._count(child, left) for child in here)]
        if left > 0:
            for one_each, held in parts:
                below = [self._count(child, left - 1) for child in held]
                found.append(_shifted(_combined(max if one_each else _capped_sum, below)))
        return _combined(_capped_sum, found)

    def _shape(self, node: Mapping[str, object]) -> _Shape:
        """What of a schema does not depend on the depth of a value."""
        if id(node) not in self._shapes:
            here = list(subschemas.reference_targets(self._root, node))
            parts: list[tuple[bool, list[object]]] = []
            for word, held in subschemas.children(node):
                if word in subschemas.IN_PLACE_APPLICATORS:
                    here += held
                elif word not in subschemas.DEFINITIONS:
                    parts.append((word in _ONE_EACH, held))
            self._shapes[id(node)] = _Shape(self._own(node), here, parts)
        return self._shapes[id(node)]

    def _own(self, node: Mapping[str, object]) -> LevelCosts:
        data = sum(_weight(node[word]) for word in _VALUES if word in node)
        data += sum(size(node[word], 2).nodes for word in _NAMES if word in node)
        data += sum(cost for word, cost in _NUMBERS.items() if word in node)
        by_pattern = node.get("patternProperties")
        patterns = ("pattern" in node) + (len(by_pattern) if isinstance(by_pattern, Mapping) else 0)
        matched = 1 + patterns * self._pattern + ("format" in node) * _FORMAT
        return LevelCosts([1 + data], [matched])


class _Shape(NamedTuple):
    own: LevelCosts
    here: list[object]
    """The schemas that apply to the same value."""
    parts: list[tuple[bool, list[object]]]
    """Those that apply to its parts, by keyword; whether one of them applies to each part."""


_TRIVIAL: Final = LevelCosts([1], [1])


def _capped_sum(numbers: Iterable[int]) -> int:
    """A sum; capped, or the numbers themselves would double at every level."""
    return min(sum(numbers), _CAP)


def _combined(how: Callable[[Iterable[int]], int], found: list[LevelCosts]) -> LevelCosts:
    """Level by level, of all that was found."""
    return LevelCosts(
        [how(level) for level in zip_longest(*(one.comparisons for one in found), fillvalue=0)],
        [how(level) for level in zip_longest(*(one.pattern_bytes for one in found), fillvalue=0)],
    )


def _shifted(below: LevelCosts) -> LevelCosts:
    """The same, a level deeper."""
    return LevelCosts([0, *below.comparisons], [0, *below.pattern_bytes])


def _weight(data: object) -> int:
    """How many comparisons it may take to find out whether a value is, or is among, this data."""
    if isinstance(data, list) and all(isinstance(item, str) for item in data):
        return 1  # the engine looks it up
    total, stack = 0, [data]
    while stack:
        node = stack.pop()
        number = isinstance(node, (int, float)) and not isinstance(node, bool)
        total += _NUMBER if number else 1
        stack.extend(_parts(node))
    return total


def _parts(node: object) -> list[object]:
    if isinstance(node, Mapping):
        return list(node.values())
    return node if isinstance(node, list) else []

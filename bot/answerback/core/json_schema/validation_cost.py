"""Upper bounds on the cost of checking a value against a JSON Schema, computed before the check. Pure.

The engine holds the interpreter's lock during a check, so moving it to a thread would not keep the event loop free:
a check has to be short. Two numbers bound it, counted for each level of nesting in the value. The first counts the
schemas, and the pieces of data in ``enum``, ``const`` and ``required``, that can apply to a single node; multiplied by
the nodes of that level, it bounds the comparisons. The second counts the bytes of compiled patterns that can apply to
a single node; multiplied by the bytes of text in the value, it bounds the matching steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from typing import Final, NamedTuple

from answerback.core.json_schema import subschemas
from answerback_base.strict_json import nodes, size

MAX_COST: Final = 500_000
"""Comparisons allowed per check: 20 ms at 40 ns, measured for the most expensive ones (objects in ``enum``)."""
_BYTES_PER_COMPARISON: Final = 400
"""Pattern bytes times text bytes matched in the time of one comparison; measured at 0.1 ns each."""
_CAP: Final = MAX_COST * _BYTES_PER_COMPARISON + 1
_FORMAT: Final = 250
"""The cost of a ``format``, in pattern bytes: the most expensive one (``idn-hostname``) takes 25 ns per byte."""
_ONE_EACH: Final = frozenset({"properties", "prefixItems", "items"})
"""Keywords with one applicable schema for each part of a value."""
_VALUES: Final = ("enum", "const")
_NAMES: Final = ("required", "dependentRequired")
_NUMBER: Final = 40
"""The cost of a number, in comparisons: the engine compares numbers exactly, in up to 1.5 µs."""
_NUMBERS: Final = {
    "multipleOf": 450,
    "minimum": 25,
    "maximum": 25,
    "exclusiveMinimum": 25,
    "exclusiveMaximum": 25,
    "uniqueItems": 3,
}
"""The measured cost, in comparisons, of keywords that cost more than one."""
_MAX_ADDITIONS: Final = 10_000
"""The most numbers to add up before a schema counts as too complex."""


class TooComplexError(ValueError):
    """Even computing the cost of a check would take too long."""


class LevelCosts(NamedTuple):
    """The most that can apply to one node, for each level from some level down."""

    comparisons: list[int]
    pattern_bytes: list[int]

    def cost(self, levels: tuple[int, ...], text_bytes: int) -> int:
        """Return the cost in comparisons of checking a value with the given number of nodes per level."""
        compared = sum(each * nodes for each, nodes in zip(self.comparisons, levels, strict=False))
        return compared + max(self.pattern_bytes) * text_bytes // _BYTES_PER_COMPARISON


class CostEstimator:
    """Computes the costs of one schema.

    Args:
        pattern_bytes: the compiled size of one of its patterns.
    """

    def __init__(self, root: object, pattern_bytes: int) -> None:
        self._root = root
        self._pattern = pattern_bytes
        self._counted: dict[tuple[int, int], LevelCosts] = {}
        self._shapes: dict[int, _Shape] = {}
        self._added = 0

    def level_costs(self, depth: int) -> LevelCosts:
        """Return what can apply to the nodes of a value nested to the given depth.

        Raises:
            TooComplexError: the schema is too complex to count.
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
            if self._added > _MAX_ADDITIONS:
                raise TooComplexError
            self._counted[place] = _TRIVIAL  # a cycle that stays on the same value is followed once
            self._counted[place] = self._count_node(node, left)
        return self._counted[place]

    def _count_node(self, node: Mapping[str, object], left: int) -> LevelCosts:
        own, in_place, parts = self._shape(node)
        costs = [own, *(self._count(child, left) for child in in_place)]
        if left > 0:
            for one_each, schemas in parts:
                below = [self._count(child, left - 1) for child in schemas]
                costs.append(_shift_down(_combine(max if one_each else _capped_sum, below)))
        return _combine(_capped_sum, costs)

    def _shape(self, node: Mapping[str, object]) -> _Shape:
        """Return the properties of a schema that do not depend on the value's depth."""
        if id(node) not in self._shapes:
            in_place = list(subschemas.reference_targets(self._root, node))
            parts: list[tuple[bool, list[object]]] = []
            for keyword, schemas in subschemas.children(node):
                if keyword in subschemas.IN_PLACE_APPLICATORS:
                    in_place += schemas
                elif keyword not in subschemas.DEFINITIONS:
                    parts.append((keyword in _ONE_EACH, schemas))
            self._shapes[id(node)] = _Shape(self._own_costs(node), in_place, parts)
        return self._shapes[id(node)]

    def _own_costs(self, node: Mapping[str, object]) -> LevelCosts:
        data = sum(_weight(node[word]) for word in _VALUES if word in node)
        data += sum(size(node[word], 2).nodes for word in _NAMES if word in node)
        data += sum(cost for word, cost in _NUMBERS.items() if word in node)
        by_pattern = node.get("patternProperties")
        patterns = ("pattern" in node) + (len(by_pattern) if isinstance(by_pattern, Mapping) else 0)
        matched = 1 + patterns * self._pattern + ("format" in node) * _FORMAT
        return LevelCosts([1 + data], [matched])


class _Shape(NamedTuple):
    own: LevelCosts
    in_place: list[object]
    """The schemas that apply to the same value."""
    parts: list[tuple[bool, list[object]]]
    """The schemas that apply to its parts, by keyword, and whether only one of them applies to each part."""


_TRIVIAL: Final = LevelCosts([1], [1])


def _capped_sum(numbers: Iterable[int]) -> int:
    """Sum numbers up to a cap; without one, they would double at every level."""
    return min(sum(numbers), _CAP)


def _combine(how: Callable[[Iterable[int]], int], costs: list[LevelCosts]) -> LevelCosts:
    """Combine several costs level by level."""
    return LevelCosts(
        [how(level) for level in zip_longest(*(each.comparisons for each in costs), fillvalue=0)],
        [how(level) for level in zip_longest(*(each.pattern_bytes for each in costs), fillvalue=0)],
    )


def _shift_down(below: LevelCosts) -> LevelCosts:
    """Return the same costs one level deeper."""
    return LevelCosts([0, *below.comparisons], [0, *below.pattern_bytes])


def _weight(data: object) -> int:
    """Return how many comparisons it may take to find out whether a value equals, or is among, this data."""
    if isinstance(data, list) and all(isinstance(item, str) for item in data):
        return 1  # the engine uses a lookup table
    return sum(_NUMBER if type(node) in {int, float} else 1 for node in nodes(data))

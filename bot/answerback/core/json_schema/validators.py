"""JSON Schemas made ready for checking values: compiled within bounds, and kept in a cache that is bounded in bytes.

Owns every option of the engine: nothing is fetched, patterns run in linear time. Compiling holds the interpreter's
lock, in a thread too, so what one call compiles is bounded as well: measured, 4 MiB of patterns take 15 ms.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, NoReturn

import jsonschema_rs
from pydantic import JsonValue

from answerback.core.json_schema import subschemas
from answerback.core.json_schema.validation_cost import (
    CostEstimator,
    LevelCosts,
    Size,
    TooComplexError,
)

MAX_COMPILED_PATTERN_BYTES: Final = 4 * 1024 * 1024
"""What the patterns of one schema may take when they are compiled."""
CACHE_BYTES: Final = 64 * 1024 * 1024
"""What all compiled schemas in memory may take together, by our own account."""
_SIZES: Final = (16 * 1024, 256 * 1024)
"""What a pattern may take, tried in this order before it gets all that there is."""
_MATCHING_SIZES: Final = tuple(8 * 1024 * 2**n for n in range(10))
_WEIGHT: Final = 4096
"""Bytes in memory for the least of schemas."""
_WEIGHT_OF_TEXT: Final = 50
"""Bytes in memory for a byte of a schema's text: parsed twice, compiled, counted."""
_WEIGHT_OF_PATTERNS: Final = 5
"""Bytes in memory for a byte of a compiled pattern: the engine's caches may each grow as large as the program."""
# What \p{…} matches costs much to compile and little to match: for matching, \w (ASCII in this engine) stands for it.
_CLASS: Final = re.compile(r"\\[pP](\{[^{}]*\}|.)")


@dataclass(slots=True)
class CompiledSchema:
    """A schema that values can be checked against."""

    validator: jsonschema_rs.Validator
    pattern_bytes: int
    """What its patterns may take in memory, all together."""
    weight: int
    costs: CostEstimator
    _reaches: dict[int, LevelCosts | None] = field(default_factory=dict)

    def cost(self, size: Size, text_bytes: int) -> int | None:
        """What checking a value of this size costs at most, in comparisons; None where that cannot be counted."""
        if size.depth not in self._reaches:
            try:
                self._reaches[size.depth] = self.costs.level_costs(size.depth)
            except TooComplexError:
                self._reaches[size.depth] = None
        reach = self._reaches[size.depth]
        return None if reach is None else reach.cost(size.levels, text_bytes)


class SchemaCache:
    """Compiled schemas by their JSON, the ones used last; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, CompiledSchema] = OrderedDict()
        self._lock = Lock()
        self.weight = 0
        """Bytes, by our own account."""

    def get(self, key: str) -> CompiledSchema | None:
        """What is kept for a key."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: str, made: CompiledSchema) -> None:
        """Keeps one more, and as many of the others as there is room for beside it."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self.weight += made.weight
            while self.weight > self._most and len(self._kept) > 1:
                self.weight -= self._kept.popitem(last=False)[1].weight


def compile_schema(key: str) -> CompiledSchema:
    """A schema, given as JSON, ready for checking values.

    Raises:
        ValueError: the engine refuses it, or its patterns take too much.
    """
    made = CACHE.get(key)
    if made is None:
        made = _compile(key)
        CACHE.put(key, made)
    return made


def collect_patterns(schema: JsonValue) -> list[str]:
    """Every pattern in a schema."""
    found: list[str] = []
    for node in subschemas.walk(schema):
        by_name = node.get("patternProperties")
        found += by_name if isinstance(by_name, Mapping) else ()
        if isinstance(pattern := node.get("pattern"), str):
            found.append(pattern)
    return found


CACHE: Final = SchemaCache(CACHE_BYTES)


def _compile(key: str) -> CompiledSchema:
    schema = json.loads(key)
    patterns = collect_patterns(schema)
    most = MAX_COMPILED_PATTERN_BYTES // max(1, len(patterns))
    validator, size = _in_least_size(schema, [*(r for r in _SIZES if r < most), most])
    matching = 0
    if patterns:
        sketches: list[Any] = [{"pattern": _CLASS.sub(r"\\w", one)} for one in patterns]
        _, matching = _in_least_size(
            {"allOf": sketches}, [*_MATCHING_SIZES, 2 * MAX_COMPILED_PATTERN_BYTES]
        )
    taken = size * len(patterns)
    weight = _WEIGHT + len(key) * _WEIGHT_OF_TEXT + taken * _WEIGHT_OF_PATTERNS
    return CompiledSchema(validator, taken, weight, CostEstimator(schema, matching))


def _in_least_size(schema: Any, sizes: list[int]) -> tuple[jsonschema_rs.Validator, int]:
    """A validator, and the first of the ascending sizes that is enough for each of its patterns."""
    *tried, last = sizes
    for size in tried:
        try:
            return _validator(schema, size), size
        except ValueError:
            continue  # a mistake that has nothing to do with the size is there in the last one, too
    return _validator(schema, last), last


def _validator(schema: Any, size: int) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema,
        validate_formats=True,
        ignore_unknown_formats=True,
        retriever=_never_fetch,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=size),
    )


def _never_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri} would have to be fetched, and nothing is fetched")

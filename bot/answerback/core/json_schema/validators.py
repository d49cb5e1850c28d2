"""Compile JSON Schemas within size limits and keep them in a cache that is bounded in bytes.

Sets every option of the engine: nothing is fetched, and patterns run in linear time. Compiling holds the interpreter's
lock, even in a thread, so what one call may compile is limited as well: 4 MiB of patterns were measured to take 15 ms.

``jsonschema_rs`` is imported where it is used: it takes 4 MB, and most calls have no schema.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pydantic import JsonValue

from answerback.core.json_schema import subschemas
from answerback.core.json_schema.validation_cost import (
    CostEstimator,
    LevelCosts,
    TooComplexError,
)
from answerback_base.strict_json import Size

if TYPE_CHECKING:
    import jsonschema_rs

MAX_COMPILED_PATTERN_BYTES: Final = 4 * 1024 * 1024
"""The compiled size limit for the patterns of one schema."""
CACHE_BYTES: Final = 64 * 1024 * 1024
"""The size limit for all compiled schemas in memory, by our own estimate."""
_SIZES: Final = (16 * 1024, 256 * 1024)
"""Size limits for a pattern, tried in this order before it gets the full limit."""
_MATCHING_SIZES: Final = tuple(8 * 1024 * 2**n for n in range(10))
_WEIGHT: Final = 4096
"""Bytes in memory for the smallest schema."""
_WEIGHT_OF_TEXT: Final = 50
"""Bytes in memory per byte of a schema's text: parsed twice, compiled, counted."""
_WEIGHT_OF_PATTERNS: Final = 5
"""Bytes in memory per byte of a compiled pattern: each of the engine's caches may grow as large as the program."""
# \p{…} is expensive to compile but cheap to match, so \w (ASCII in this engine) replaces it when estimating matching.
_CLASS: Final = re.compile(r"\\[pP](\{[^{}]*\}|.)")


@dataclass(slots=True)
class CompiledSchema:
    """A compiled schema, ready for checking values."""

    validator: jsonschema_rs.Validator
    pattern_bytes: int
    """The memory limit of its patterns, all together."""
    weight: int
    costs: CostEstimator
    _costs_by_depth: dict[int, LevelCosts | None] = field(default_factory=dict)

    def cost(self, size: Size, text_bytes: int) -> int | None:
        """Return the maximum cost of checking a value of this size, in comparisons; None if it cannot be computed."""
        if size.depth not in self._costs_by_depth:
            try:
                self._costs_by_depth[size.depth] = self.costs.level_costs(size.depth)
            except TooComplexError:
                self._costs_by_depth[size.depth] = None
        costs = self._costs_by_depth[size.depth]
        return None if costs is None else costs.cost(size.levels, text_bytes)


class SchemaCache:
    """A thread-safe cache of the most recently used compiled schemas, by their JSON."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._entries: OrderedDict[str, CompiledSchema] = OrderedDict()
        self._lock = Lock()
        self.weight = 0
        """The estimated size in bytes."""

    def get(self, key: str) -> CompiledSchema | None:
        """Return a schema and make it the last one to be dropped; None if it is not cached."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: str, compiled: CompiledSchema) -> None:
        """Add a schema, and evict the least recently used others until the rest fits."""
        with self._lock:
            if key not in self._entries:
                self._entries[key] = compiled
                self.weight += compiled.weight
            while self.weight > self._max_weight and len(self._entries) > 1:
                self.weight -= self._entries.popitem(last=False)[1].weight


def compile_schema(key: str) -> CompiledSchema:
    """Compile a schema, given as JSON, or return it from the cache.

    Raises:
        ValueError: the engine rejects it, or its patterns are too large.
    """
    compiled = CACHE.get(key)
    if compiled is None:
        compiled = _compile(key)
        CACHE.put(key, compiled)
    return compiled


def collect_patterns(schema: JsonValue) -> list[str]:
    """Return the regular expressions in a schema, at any depth."""
    patterns: list[str] = []
    for node in subschemas.walk(schema):
        by_name = node.get("patternProperties")
        patterns += by_name if isinstance(by_name, Mapping) else ()
        if isinstance(pattern := node.get("pattern"), str):
            patterns.append(pattern)
    return patterns


CACHE: Final = SchemaCache(CACHE_BYTES)


def _compile(key: str) -> CompiledSchema:
    schema = json.loads(key)
    patterns = collect_patterns(schema)
    limit = MAX_COMPILED_PATTERN_BYTES // max(1, len(patterns))
    validator, size = _compile_smallest(schema, [*(r for r in _SIZES if r < limit), limit])
    matching = 0
    if patterns:
        simplified: list[Any] = [{"pattern": _CLASS.sub(r"\\w", each)} for each in patterns]
        _, matching = _compile_smallest(
            {"allOf": simplified}, [*_MATCHING_SIZES, 2 * MAX_COMPILED_PATTERN_BYTES]
        )
    pattern_bytes = size * len(patterns)
    weight = _WEIGHT + len(key) * _WEIGHT_OF_TEXT + pattern_bytes * _WEIGHT_OF_PATTERNS
    return CompiledSchema(validator, pattern_bytes, weight, CostEstimator(schema, matching))


def _compile_smallest(schema: Any, sizes: list[int]) -> tuple[jsonschema_rs.Validator, int]:
    """Compile with the first of the ascending sizes that is enough for each pattern; also return that size."""
    *smaller, last = sizes
    for size in smaller:
        try:
            return _validator(schema, size), size
        except ValueError:
            continue  # an error unrelated to the size will recur with the last one
    return _validator(schema, last), last


def _validator(schema: Any, size: int) -> jsonschema_rs.Validator:
    import jsonschema_rs

    return jsonschema_rs.validator_for(
        schema,
        validate_formats=True,
        ignore_unknown_formats=True,
        retriever=_never_fetch,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=size),
    )


def _never_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri} would have to be fetched, but nothing is ever fetched")

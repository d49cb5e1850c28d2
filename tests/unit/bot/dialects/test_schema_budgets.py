"""The cost of schemas: one budget per call, short steps, and a cache that is bounded in bytes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import jsonschema_rs
import pytest

from answerback.core.errors import InvalidCallError
from answerback.core.json_schema import metaschemas, schemas, validators
from answerback.core.json_schema.schemas import Budget, InvalidSchemaError, SchemaTooLargeError
from answerback.dialects import registry
from tests.timing import BLOCKED, seconds, slowdown


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the duration of each call of the engine's compiler, which holds the interpreter's lock."""
    taken: list[float] = []
    compile_ = jsonschema_rs.validator_for

    def timed(*args: Any, **options: Any) -> Any:
        def compile_or_fail() -> None:
            with suppress(ValueError):
                compile_(*args, **options)

        taken.append(seconds(compile_or_fail))
        return compile_(*args, **options)

    monkeypatch.setattr(jsonschema_rs, "validator_for", timed)
    monkeypatch.setattr(validators, "CACHE", validators.SchemaCache(validators.CACHE_BYTES))
    return taken


def call(*of: Any) -> dict[str, Any]:
    """Return a call with one schema question per schema."""
    return {
        "questions": [
            {"id": f"q{n}", "text": "?", "answer_type": "schema", "schema": schema}
            for n, schema in enumerate(of)
        ]
    }


@pytest.mark.rule("DATA-9")
@pytest.mark.parametrize("pattern", [r"\p{L}{90}", "(a|b|cd){20000}"])
def test_a_hundred_costly_patterns_share_one_budget(pattern: str, compiling: list[float]) -> None:
    before, slower = resident(), slowdown()
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(
            "ask_user", call(*({"pattern": pattern, "title": str(n)} for n in range(100)))
        )
    problem = refused.value.problems[-1]
    assert problem.code in {"too_long", "invalid_schema"}
    assert problem.pointer == "/questions/99/schema"
    assert max(compiling) < BLOCKED
    # Each is too short to be corrected by itself.
    assert sum(compiling) / max(slower, slowdown()) < 2.0
    assert resident() - before < 100 * 2**20


def test_a_schema_over_budget_is_rejected_with_a_message() -> None:
    large = {"pattern": r"^\p{L}{60}$"}
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", call(large, large, large))
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/questions/2/schema", "too_long")
    assert problem.message.startswith("questions[2].schema is too large: with it, the schemas")
    assert "across several calls" in problem.message


@pytest.mark.rule("DATA-9")
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"anyOf": [{"const": n} for n in range(1_100)]}, "schemas, including nested ones"),
        ({"allOf": [{"pattern": f"a{n}"} for n in range(300)]}, "600 patterns"),
        ({"pattern": "a" * 15_000}, "30000 characters"),
        ({"pattern": r"[\p{L}]" * 60}, "120 Unicode classes"),
    ],
)
def test_each_limit_applies_to_all_schemas_of_a_call_together(schema: Any, text: str) -> None:
    budget = Budget()
    schemas.require_usable(schema, budget)
    with pytest.raises(SchemaTooLargeError) as refused:
        schemas.require_usable(schema, budget)
    assert text in str(refused.value)


def test_a_metaschema_violation_is_reported_with_its_location() -> None:
    unsound: list[tuple[Any, str]] = [
        ({"properties": {"a": {"type": 5}}}, "at /properties/a/type: 5 is not"),
        ({"minLength": -1}, "at /minLength: -1 is less than the minimum of 0"),
        ({"required": ["a", "a"]}, "non-unique"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "required": 1}, "at /required"),
        ({"$schema": 5}, "at /$schema"),
        ({"type": "x" * 1000}, "…"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "enum": [{}, {}]}, "twice"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "draft-03"),
    ]
    for schema, text in unsound:
        with pytest.raises(InvalidSchemaError) as refused:
            schemas.require_usable(schema)
        assert text in str(refused.value)
        assert len(str(refused.value)) < 400


def test_a_metaschema_is_checked_in_linear_time() -> None:
    draft = "http://json-schema.org/draft-04/schema#"
    made: Any = [
        {"$schema": draft, "enum": [{"n": n} for n in range(size)]} for size in (400, 4_000)
    ]
    few, many = made  # objects, which the library would compare in pairs
    metaschemas.first_error(few)
    enough = BLOCKED / 2
    least = seconds(lambda: metaschemas.first_error(few), enough)
    assert seconds(lambda: metaschemas.first_error(many), enough) < 40 * least


def deep(levels: int) -> Any:
    """Return a value nested to the given depth."""
    return {"p1": deep(levels - 1)} if levels else 1


_GRAPH: Any = {
    "$ref": "#/$defs/d0",
    "$defs": {
        f"d{i}": {
            "properties": {f"p{j}": {"$ref": f"#/$defs/d{(i * 7 + j) % 60}"} for j in range(30)}
        }
        for i in range(60)
    },
}
_WORDS = [str(n) for n in range(1_000)]
COSTLY: dict[str, tuple[Any, Any]] = {
    "a long enum, missed": ({"items": {"enum": _WORDS}}, ["x"] * 40_000),
    "a long enum, missed less often": ({"items": {"enum": _WORDS}}, ["x"] * 450),
    "objects in an enum": (
        {"items": {"enum": [[n, [n]] for n in range(800)]}},
        [[799, [799]]] * 150,
    ),
    "many names, missing": ({"items": {"required": _WORDS}}, [{}] * 450),
    "two names, missing": ({"items": {"required": ["a", "b"]}}, [{}] * 30_000),
    "alternatives": ({"items": {"anyOf": [{"const": n} for n in range(900)]}}, [-1] * 250),
    "one of": ({"oneOf": [{"const": n} for n in range(1_900)]}, -1),
    "nothing allowed": ({"items": False}, [1] * 100_000),
    "no two alike": ({"items": {"uniqueItems": True}}, [[[n] for n in range(300)]] * 100),
    "a pattern with many states": ({"pattern": "[ab]*a[ab]{300}[cd]"}, "ab" * 3_000),
    "a pattern with few states": ({"pattern": "[ab]*a[ab]{30}[cd]"}, "aab" * 5_000),
    "a pattern with many empty ways": ({"pattern": "((((a?){30})?){30}){3}[!]"}, "é漢" * 60),
    "formats": ({"allOf": [{"format": "idn-hostname"}] * 5}, "é" * 80_000),
    "numbers in an enum": ({"items": {"enum": [n + 0.5 for n in range(900)]}}, [3.25] * 500),
    "fewer numbers": ({"items": {"enum": [n + 0.5 for n in range(90)]}}, [3.25] * 100),
    "multiples": ({"items": {"multipleOf": 1e-300}}, [1e300] * 1_000),
    "long numbers": ({"uniqueItems": True}, [10**300 + n for n in range(800)]),
    "some long numbers": ({"uniqueItems": True}, [10**300 + n for n in range(100)]),
    "bounds": ({"items": {"minimum": 0.1, "maximum": 1e308}}, [1e307] * 9_000),
    "references to and fro": (_GRAPH, deep(60)),
    "long texts, refused": ({"items": {"type": "integer"}}, ["x" * 20_000] * 10),
}


@pytest.mark.rule("DATA-9")
@pytest.mark.parametrize("name", COSTLY)
def test_no_check_of_an_answer_takes_long(name: str) -> None:
    schema, value = COSTLY[name]
    schemas.require_usable(schema)
    assert seconds(lambda: schemas.violations(schema, value)) < 2 * BLOCKED
    found = schemas.violations(schema, value)
    assert len(found) <= 20
    assert all(len(problem.message) < 400 for problem in found)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": r"^\p{L}{1,50}$"}, "漢" * 50),
        ({"pattern": r"^[^@\s]+@[^@\s]+\.[^@\s]+$"}, "a" * 200 + "@example.com"),
        ({"pattern": "^.{1,200}$"}, "é" * 200),
        ({"items": {"enum": _WORDS}}, _WORDS),
        ({"items": {"enum": list(range(100))}}, list(range(100))),
        ({"items": {"type": "string"}}, [f"{n:030}" for n in range(500)]),
        (
            {"properties": {word: {} for word in _WORDS}, "required": _WORDS},
            dict.fromkeys(_WORDS, 1),
        ),
        ({"properties": {w: {"type": "string"} for w in _WORDS}}, dict.fromkeys(_WORDS, "y")),
        ({"items": {"$ref": "#"}}, [[[]] * 50] * 50),
        ({"type": "string", "minLength": 1}, "x" * 100_000),
    ],
)
def test_ordinary_schemas_and_answers_are_checked(schema: Any, value: Any) -> None:
    schemas.require_usable(schema)
    assert schemas.violations(schema, value) == ()


def test_a_schema_stored_under_higher_limits_is_reported_as_too_large() -> None:
    stored: Any = {"properties": {f"p{n}": {"pattern": f"\\p{{L}}{{80}}{n}"} for n in range(5)}}
    with pytest.raises(InvalidSchemaError):
        schemas.require_usable(stored)
    (problem,) = schemas.violations(stored, {})
    assert "too large to be checked" in problem.message


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [{"$ref": "https://example.com/x"}, {"$id": "x"}]},
        {"const": {"$ref": "other.json", "$id": "https://example.com/"}},
        {"default": {"$ref": "x"}, "examples": [{"$id": "x"}]},
        {"properties": {"a": {"default": [{"$dynamicRef": "x"}]}, "$ref": {"const": "x"}}},
    ],
)
def test_references_and_ids_within_data_are_ignored(schema: Any) -> None:
    schemas.require_usable(schema)
    for value in (*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])):
        assert schemas.violations(schema, value) == ()


def test_a_reference_into_a_string_is_dangling() -> None:
    with pytest.raises(InvalidSchemaError, match="title"):
        schemas.require_usable({"title": "t", "items": {"$ref": "#/title/x"}})


@pytest.mark.parametrize("word", ["const", "enum", "default", "x-note"])
def test_data_that_a_reference_points_to_is_a_schema(word: str) -> None:
    hostile = {"$ref": "https://example.com/x"}
    held: Any = [hostile] if word == "enum" else hostile
    pointer = f"#/{word}" + ("/0" if word == "enum" else "")
    with pytest.raises(InvalidSchemaError, match="only"):
        schemas.require_usable({word: held, "properties": {"a": {"$ref": pointer}}})


@pytest.mark.rule("DATA-10")
def test_the_cache_is_bounded_in_bytes_and_keeps_the_most_recently_used() -> None:
    cache = validators.SchemaCache(10_000)
    small = validators.compile_schema("true")
    small.weight = 4_000
    for key in ("a", "b"):
        cache.put(key, small)
    assert cache.get("a") is small
    cache.put("c", small)
    cache.put("c", small)
    assert cache.weight == 8_000
    assert [key for key in "abc" if cache.get(key)] == ["a", "c"]


@pytest.mark.rule("DATA-10")
def test_however_many_schemas_were_compiled_memory_stays_bounded() -> None:
    before = resident()
    for n in range(60):
        schema: Any = {"pattern": rf"^\p{{L}}{{80}}{n}$"}
        schemas.require_usable(schema)
        schemas.violations(schema, "é" * 79 + "!")
    assert validators.CACHE.weight <= validators.CACHE_BYTES
    assert resident() - before < 3 * validators.CACHE_BYTES

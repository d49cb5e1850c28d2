"""Every limit of a call, a form and a schema, tested at its boundary."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerback.core.errors import InvalidCallError
from answerback.core.json_schema import schemas, validators
from answerback.core.json_schema.schemas import Budget, InvalidSchemaError, SchemaTooLargeError
from answerback.dialects import registry
from answerback_base.strict_json import size
from tests.limit_edges import edge

pytestmark = [pytest.mark.rule("FORM-7"), pytest.mark.rule("DATA-9")]


def codes(*questions: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the problems with a call of `ask_user`: codes with pointers."""
    filled: list[Any] = [
        {"id": f"q{i}", "text": "?", "answer_type": "text"} | q for i, q in enumerate(questions)
    ]
    try:
        registry.parse_call("ask_user", {"questions": filled})
    except InvalidCallError as error:
        return [(problem.code, problem.pointer) for problem in error.problems]
    return []


@edge("MAX_QUESTIONS")
def test_the_limit_of_questions_per_form() -> None:
    assert codes(*[{}] * 100) == []
    assert codes(*[{}] * 101) == [("too_many", "/questions")]


@edge("MAX_OPTIONS")
def test_the_limit_of_options_per_question() -> None:
    def select(count: int) -> dict[str, Any]:
        return {"answer_type": "select", "options": [f"o{i}" for i in range(count)]}

    assert codes(select(1_000)) == []
    assert codes(select(1_001)) == [("too_many", "/questions/0/options")]


@edge("MAX_TEXT")
def test_the_length_limit_of_texts_and_contexts() -> None:
    for key in ("text", "context"):
        assert codes({key: "\U0001f469" * 20_000}) == []
        assert codes({key: "x" * 20_001}) == [("too_long", f"/questions/0/{key}")]


@pytest.mark.rule("HOOK-10")
@edge("MAX_PLAN")
def test_a_plan_of_250_000_characters_is_shown_whole() -> None:
    for length, is_whole in ((250_000, True), (250_001, False)):
        arguments: dict[str, Any] = {
            "tool_name": "ExitPlanMode",
            "tool_input": {"plan": "x" * length},
        }
        form = registry.parse_call("PermissionRequest", arguments).form
        assert (form.questions[0].context == "x" * length) is is_whole


@edge("MAX_LABEL")
def test_the_length_limit_of_ids_and_options() -> None:
    assert codes({"id": "x" * 1_000}) == []
    assert codes({"id": "x" * 1_001}) == [("too_long", "/questions/0/id")]
    select = {"answer_type": "select"}
    assert codes(select | {"options": ["x" * 1_000]}) == []
    too_long = codes(select | {"options": ["x" * 1_001]})
    assert too_long == [("too_long", "/questions/0/options/0")]


def refused(schema: Any) -> bool:
    """Return whether a schema is rejected."""
    try:
        schemas.require_usable(schema)
    except InvalidSchemaError:
        return True
    return False


def nested(levels: int) -> Any:
    """Return a value nested in the given number of arrays."""
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@edge("MAX_SCHEMA_DEPTH")
def test_the_depth_limit_of_schemas() -> None:
    assert not refused({"const": nested(31)})
    assert refused({"const": nested(32)})


@edge("MAX_SCHEMA_BYTES")
def test_the_size_limit_of_schemas() -> None:
    around = len('{"const":""}')
    assert not refused({"const": "x" * (64 * 1024 - around)})
    assert refused({"const": "x" * (64 * 1024 - around + 1)})


@edge("MAX_VALUE_DEPTH")
def test_the_depth_limit_of_answers() -> None:
    assert schemas.violations(True, nested(64)) == ()
    assert [each.code for each in schemas.violations(True, nested(65))] == ["too_long"]


def over(*taken: Any, compiled: int = 0) -> bool:
    """Return whether schemas exceed the budget of one call."""
    budget = Budget()
    try:
        for schema in taken:
            budget.take(schema)
        budget.take_patterns(compiled)
    except SchemaTooLargeError:
        return True
    return False


@edge("MAX_SCHEMAS", "MAX_PATTERNS", "MAX_PATTERN_TEXT", "MAX_CLASSES", "MAX_PATTERN_BYTES")
def test_the_limits_of_all_schemas_in_a_call() -> None:
    for past in (0, 1):
        assert over({"allOf": [{} for _ in range(1_998)]}, *[{}] * (1 + past)) == bool(past)
        assert over(*[{"pattern": "a"}] * (500 + past)) == bool(past)
        assert over({"pattern": "a" * 19_000}, {"pattern": "a" * (1_000 + past)}) == bool(past)
        assert over({"pattern": r"\p{L}" * 99}, {"pattern": r"\P{L}" * (1 + past)}) == bool(past)
        assert over(compiled=8 * 1024 * 1024 + past) == bool(past)


def cost(schema: Any, value: Any, text: str) -> int | None:
    """Return the maximum cost of checking a value, in comparisons."""
    ready = validators.compile_schema(schemas._cache_key(schema))
    return ready.cost(size(value, 64), len(text))


@edge("MAX_COST")
def test_the_cost_limit_of_a_check() -> None:
    """Each required name costs one more comparison at the root."""
    value: Any = ["x"] * 990
    text = json.dumps(value)

    def schema(required: int) -> Any:
        every, root = ([str(n) for n in range(count)] for count in (500, required))
        return {"items": {"required": every}, "required": root}

    least = cost(schema(0), value, text)
    assert least is not None
    exact = 500_000 - least
    assert cost(schema(exact), value, text) == 500_000
    assert schemas.violations(schema(exact), value) == ()
    assert [e.code for e in schemas.violations(schema(exact + 1), value)] == ["too_long"]

"""The cache of parsed requests stays within its limit."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from pydantic import JsonValue

from answerback.core.ask import Request
from answerback_storage.rows import RequestCache, estimate_parsed_bytes
from answerback_testing.example_asks import new_ask


def test_a_request_is_parsed_once_while_it_is_cached() -> None:
    text = new_ask().request.model_dump_json()
    cache = RequestCache(2 * estimate_parsed_bytes(text))
    reads: list[int] = []

    def get(seq: int) -> object:
        def read() -> str:
            reads.append(seq)
            return text

        return cache.get(str(seq), read)

    first = get(1)
    assert first == new_ask().request
    get(2)
    assert get(1) is first
    get(3)
    assert get(1) is first
    get(2)
    assert reads == [1, 2, 3, 2]


@pytest.mark.rule("DATA-8", "DATA-10")
def test_a_request_larger_than_the_cache_is_not_cached() -> None:
    cache = RequestCache(10)
    text = new_ask().request.model_dump_json()
    assert cache.get("ask_1", lambda: text) is not cache.get("ask_1", lambda: text)


def test_a_request_read_twice_concurrently_is_cached_once() -> None:
    text = new_ask().request.model_dump_json()
    cache = RequestCache(estimate_parsed_bytes(text))

    def read() -> str:
        cache.get("ask_1", lambda: text)
        return text

    cache.get("ask_1", read)
    assert cache.get("ask_1", lambda: "") == new_ask().request


def test_only_a_large_request_is_cached_when_it_is_read_without_a_change() -> None:
    small, cache = new_ask().request, RequestCache()
    large = small.model_copy(update={"metadata": {"value": "x" * 20_000}})
    for name, request in (("small", small), ("large", large)):
        assert cache.get(name, request.model_dump_json, changes=False) == request
    assert cache.peek("small") is None
    assert cache.peek("large") == large


@pytest.mark.rule("DATA-10")
@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000,
        "\N{CYRILLIC SMALL LETTER YA}\N{GRINNING FACE}" * 5_000,
        [[]] * 5_000,
        list(range(5_000)),
        [{"a": {}}] * 1_000,
        None,
    ],
    ids=["text", "wide text", "lists", "numbers", "objects", "nothing"],
)
def test_the_size_estimate_is_never_below_actual_memory(value: JsonValue) -> None:
    request = new_ask().request.model_copy(update={"metadata": {"value": value}})
    text = request.model_dump_json()
    Request.model_validate_json(text)
    count = 20
    gc.disable()  # everything created from now on is young, and nothing else has to be scanned
    tracemalloc.start()
    try:
        cache = RequestCache(count * estimate_parsed_bytes(text))
        for number in range(3 * count):
            cache.get(str(number), lambda: text)
        gc.collect(0)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    held = sum(cache.peek(str(number)) is not None for number in range(3 * count))
    assert held == count
    assert used <= count * estimate_parsed_bytes(text)

"""The cache of parsed requests stays within its bounds."""

from __future__ import annotations

import pytest

from answerback.testing.store_examples import new_ask
from answerback_storage.rows import RequestCache


def test_a_request_is_parsed_once_as_long_as_it_is_held() -> None:
    text = new_ask().request.model_dump_json()
    cache = RequestCache(characters=2 * len(text))
    reads: list[int] = []

    def get(seq: int) -> object:
        def read() -> str:
            reads.append(seq)
            return text

        return cache.get(seq, read)

    first = get(1)
    assert first == new_ask().request
    get(2)
    assert get(1) is first
    get(3)
    assert get(1) is first
    get(2)
    assert reads == [1, 2, 3, 2]


@pytest.mark.rule("DATA-8", "DATA-10")
def test_a_request_larger_than_the_cache_is_not_held() -> None:
    cache = RequestCache(characters=10)
    text = new_ask().request.model_dump_json()
    assert cache.get(1, lambda: text) is not cache.get(1, lambda: text)


def test_a_request_read_by_two_at_once_is_held_once() -> None:
    text = new_ask().request.model_dump_json()
    cache = RequestCache(characters=len(text))

    def read() -> str:
        cache.get(1, lambda: text)
        return text

    cache.get(1, read)
    assert cache.get(1, lambda: "") == new_ask().request

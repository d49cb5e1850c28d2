"""Codes that people read in one place and type in another."""

from __future__ import annotations

import pytest

from answerback_teams.typed_codes import CODE_LETTERS, new_code, read_code


@pytest.mark.rule("ONBOARD-4", "LINK-4")
def test_codes_form_no_words_and_have_no_look_alikes() -> None:
    assert not set(CODE_LETTERS) & set("AEIOUY0123456789")
    codes = {new_code() for _ in range(50)}
    assert len(codes) == 50
    for code in codes:
        first, second = code.split("-")
        assert len(first) == len(second) == 4
        assert set(first + second) <= set(CODE_LETTERS)


@pytest.mark.rule("ONBOARD-4", "LINK-4")
@pytest.mark.parametrize(
    "typed",
    ["BCDF-GHJK", "bcdf-ghjk", "BCDFGHJK", " bcdf ghjk ", "b-c-d-f-g-h-j-k", "BCDF\u2013GHJK"],
)
def test_a_code_may_be_typed_in_any_case_with_any_spaces_and_dashes(typed: str) -> None:
    assert read_code(typed) == "BCDF-GHJK"


@pytest.mark.parametrize("typed", ["", "BCDF-GHJ", "BCDF-GHJKL", "B" * 10_000])
def test_what_is_no_code_is_none(typed: str) -> None:
    read = read_code(typed)
    assert read != "BCDF-GHJK"
    assert len(read) <= 101

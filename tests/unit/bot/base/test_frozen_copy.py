"""Copies of frozen dataclasses with other values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from answerback_base.frozen_copy import copy_with
from answerback_testing.example_asks import new_ask


def test_a_copy_has_the_other_values_and_leaves_the_original_as_it_is() -> None:
    ask = new_ask(1)
    place = copy_with(ask.placement, shown_revision=7)
    copy = copy_with(ask, placement=place, revision=8)
    assert copy == replace(ask, placement=replace(ask.placement, shown_revision=7), revision=8)
    assert ask == new_ask(1)


def test_a_copy_is_frozen_too() -> None:
    copy = copy_with(new_ask(1), revision=8)
    with pytest.raises(FrozenInstanceError):
        copy.revision = 9  # type: ignore[misc] # which mypy refuses as well

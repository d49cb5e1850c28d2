"""Whose confirmation counts: each guard alone, with people whom no other guard would refuse."""

from __future__ import annotations

import pytest

from answerback.core.confirmation import confirm
from answerback.core.people import People
from tests.unit.bot.core.confirming_cases import ACCOUNTS, CASES, Case, outcome


@pytest.mark.rule("CONFIRM-3")
@pytest.mark.parametrize("case", CASES)
def test_whose_confirmation_counts(case: Case) -> None:
    assert outcome(case, confirm, People(ACCOUNTS)) is case.refusal

"""Each mutant changes one line that exists, and names tests that exist."""

import pytest

from tests.meta.project import ROOT
from tests.mutants.table import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.line}")
def test_a_mutant_changes_one_line_and_names_its_tests(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    assert text.count(mutant.line) == 1
    assert mutant.line != mutant.mutant
    assert "\n" not in mutant.line + mutant.mutant
    for test in mutant.tests:
        assert (ROOT / test.partition("::")[0]).exists()

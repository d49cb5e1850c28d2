"""`make test` proves every rule and notices every mutant, with one case of what `make check` repeats."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

from tests import matrix
from tests.meta.chosen_tests import Chosen, chosen_tests
from tests.meta.project import ROOT, sources
from tests.meta.rules import rules
from tests.mutants.table import MUTANTS


@pytest.fixture(scope="module")
def chosen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Sequence[Chosen]:
    return chosen_tests(request.config, tmp_path_factory.mktemp("chosen"))


def test_every_rule_is_proved_by_make_test(chosen: Sequence[Chosen]) -> None:
    proved = {rule for test in chosen for rule in test.rules}
    unproved = [rule for rule in rules().built if rule not in proved]
    assert unproved == [], "name a proof of each in PROOFS of tests/matrix.py"


def test_every_mutant_is_noticed_by_make_test(chosen: Sequence[Chosen]) -> None:
    parts = set[str]()
    for test in chosen:
        name = test.id.partition("[")[0]
        parts |= {test.id, name, name.rpartition("::")[0], name.partition("::")[0]}
    noticed = {(each.file, each.line) for each in MUTANTS if not parts.isdisjoint(each.tests)}
    unnoticed = {(each.file, each.line) for each in MUTANTS} - noticed
    assert unnoticed == set(), "name a quick test for each in tests/mutants/"


def test_every_proof_that_the_matrix_names_exists(chosen: Sequence[Chosen]) -> None:
    named = {f"{file}::{test}" for file, tests in matrix.PROOFS.items() for test in tests}
    assert named - {test.id.partition("[")[0] for test in chosen} == set()


def test_a_case_of_surfaces_runs_on_one(chosen: Sequence[Chosen]) -> None:
    surfaces = defaultdict[tuple[str, str], set[str]](set)
    for test in chosen:
        if test.module.startswith("answerback_testing.surface_"):
            surface, _, name = test.id.rpartition("::")
            surfaces[test.module, name.partition("[")[0]].add(surface)
    assert {case: ran_on for case, ran_on in surfaces.items() if len(ran_on) != 1} == {}
    assert len(set[str]().union(*surfaces.values())) >= 7, "they are spread over all"


def test_a_case_of_stores_runs_on_sqlite_and_a_third_on_postgresql(
    chosen: Sequence[Chosen],
) -> None:
    ran_on = Counter(
        test.id.split("::")[1]
        for test in chosen
        if test.module.startswith(("answerback_testing.store_", "tests.stores."))
    )
    assert ran_on["TestSqliteStore"] > 150
    assert 0.2 < ran_on["TestPostgresStore"] / ran_on["TestSqliteStore"] < 0.5


def test_make_check_runs_each_folder_in_one_of_its_groups() -> None:
    groups = re.findall(
        r"^check-\w+: CHECKED := (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    tests = {path.relative_to(ROOT) for path in sources("tests") if path.name.startswith("test_")}
    folders = {f"tests/{path.parts[1]}" for path in tests} - {"tests/agents", "tests/hosts"}
    assert sorted(" ".join(groups).split()) == sorted(folders)


def test_a_choice_that_does_not_exist_is_refused() -> None:
    command = (sys.executable, "-c", "import tests.matrix")
    environment = {**os.environ, "MATRIX": "most"}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert "MATRIX is 'most'" in ran.stderr

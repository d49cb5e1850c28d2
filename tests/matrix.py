"""Which tests and combinations run. Each run, on each machine, leaves out the same.

``MATRIX=once``, which `make test` sets, runs what finds most faults in the least time: `choose` says what that is.
Without it, as in `make check`, every test runs, and of those that are alike a fixed share. ``MATRIX=whole`` runs all.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

_MATRIX: Final = os.environ.get("MATRIX", "")
if _MATRIX not in ("", "once", "whole"):
    raise ValueError(f"MATRIX is {_MATRIX!r}: leave it out, or make it `once` or `whole`.")
_WHOLE: Final = _MATRIX == "whole"
ONCE: Final = _MATRIX == "once"

CHOSEN: Final = pytest.StashKey[list[pytest.Item]]()
"""The tests that a run of `make test` has chosen."""
FOLDERS: Final = ("tests/meta", "tests/mutants", "tests/unit")
"""Where every test belongs to `make test`, unless it is `long`."""
PROOFS: Final = {
    "tests/acceptance/test_commands.py": ("test_check_names_every_mistake_with_its_pointer",),
    "tests/acceptance/test_serving.py": (
        "test_serve_check_fails_where_serve_would_fail",
        "test_serve_ends_with_one_sentence_if_its_database_cannot_be_used",
        "test_serve_prints_the_link_with_the_key_once_and_only_on_a_terminal",
        "test_serve_with_an_invalid_configuration_says_what_to_do",
        "test_the_demo_is_walked_on_its_page_and_ends_with_the_tool_result",
    ),
    "tests/browser/test_accessibility.py": (
        "test_every_control_is_reached_by_keyboard_alone_and_focus_is_visible",
    ),
    "tests/browser/test_accidental_decisions.py": (
        "test_a_second_press_of_enter_does_not_answer_the_next_question",
        "test_nothing_is_focused_or_chosen_on_a_yes_or_no",
        "test_the_context_follows_the_question_and_the_answers_follow_the_context",
    ),
    "tests/browser/test_forms.py": ("test_what_is_typed_survives_a_reload_back_and_another_tab",),
    "tests/browser/test_inbox_keys.py": (
        "test_a_permission_has_two_buttons_and_says_what_each_other_way_does",
    ),
    "tests/browser/test_layout.py": (
        "test_whoever_decides_first_reads_how_many_others_have_to_confirm",
    ),
    "tests/browser/test_notifications.py": (
        "test_a_question_that_waits_is_announced_by_its_agent_alone_and_taken_back_when_answered",
    ),
    "tests/browser/test_other_text.py": ("test_arrow_keys_pass_something_else",),
    "tests/browser/test_page.py": ("test_a_page_follows_its_ask",),
    "tests/browser/test_prompts.py": (
        "test_a_patch_has_each_path_once_with_tabs_and_line_numbers",
    ),
    "tests/browser/test_service_away.py": ("test_it_is_sent_once_when_the_service_is_back",),
    "tests/browser/test_strangers.py": (
        "test_the_address_that_a_browser_shows_is_worth_nothing_elsewhere",
    ),
    "tests/browser/test_undo.py": (
        "test_a_decision_is_sent_after_some_seconds_and_the_next_prompt_is_open_at_once",
    ),
    "tests/meta/test_wheel.py": (
        "test_all_wheels_have_the_same_version_and_require_each_others",
        "test_the_distribution_beside_an_agent_requires_none_of_the_services_libraries",
        "test_the_client_has_few_dependencies_and_forces_no_newer_ones_than_the_service",
    ),
}
"""Other tests that belong to `make test`: one for each rule that none of those proves."""
_SURFACES: Final = "answerback_testing.surface_"
_STORES: Final = ("answerback_testing.store_", "tests.stores.")
_MOST_SETS: Final = 8
"""Parameter sets of one test, of which all run."""


def one_of(choices: Sequence[T], name: str) -> Sequence[T]:
    """Return the one choice with which a test of this name runs."""
    place = crc32(name.encode()) % len(choices)
    return choices if _WHOLE else choices[place : place + 1]


def every(number: int, cases: Sequence[T]) -> Sequence[T]:
    """Return the first of each so many cases."""
    return cases if _WHOLE else cases[::number]


def in_one_of(choices: Sequence[object], fixture: str) -> Callable[[pytest.Metafunc], None]:
    """Return a module's ``pytest_generate_tests``, which gives a fixture one of these choices as its parameter."""

    def parametrize(metafunc: pytest.Metafunc) -> None:
        if fixture in metafunc.fixturenames:
            chosen = one_of(choices, metafunc.function.__name__)
            metafunc.parametrize(fixture, chosen, indirect=True)

    return parametrize


def leaves_out_file(path: Path, root: Path) -> bool:
    """Return whether nothing in a file belongs to `make test`, so that it need not be imported."""
    name = path.relative_to(root).as_posix()
    return name.startswith("tests/") and name not in PROOFS and not name.startswith(FOLDERS)


def choose(items: Sequence[pytest.Item], named: Set[str]) -> list[pytest.Item]:
    """Return the tests that `make test` runs: one proof of everything, where others repeat it.

    - Those in `FOLDERS` that are not `long`, and of the files in `PROOFS` those named there.
    - Each case of the contract of surfaces on one of those that have it, and each case of the contract of stores on
      SQLite, a third of them on PostgreSQL too.
    - Of more than eight parameter sets the first, the last and six others. The rules of the source and the mutants keep
      all theirs, because each set is about another line of the project.

    Names decide, so that what is added elsewhere changes no choice.

    Args:
        named: the tests that mutants name, which all stay.
    """
    alike: dict[object, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if _belongs(item):
            alike[_test_of(item)].append(item)
    kept: set[pytest.Item] = set()
    for cases in alike.values():
        kept.update(_few_sets(_some_on_postgresql(_on_one_surface(cases))))
        kept.update(item for item in cases if not named.isdisjoint(_names(item)))
    return [item for item in items if item in kept]


def _belongs(item: pytest.Item) -> bool:
    if (file := item.nodeid.partition("::")[0]) in PROOFS:
        return _name(item) in PROOFS[file]
    return item.get_closest_marker("long") is None


def _name(item: pytest.Item) -> str:
    """Return the name of a test without its parameters."""
    return item.name.partition("[")[0]


def _names(item: pytest.Item) -> set[str]:
    return {item.nodeid, item.nodeid.partition("[")[0]}


def module_of(item: pytest.Item) -> str:
    """Return the module that defines a test, which its class may have inherited."""
    return item.function.__module__ if isinstance(item, pytest.Function) else ""


def _test_of(item: pytest.Item) -> object:
    """Return what is the same for the cases of one test."""
    if isinstance(item, pytest.Function) and module_of(item).startswith((_SURFACES, *_STORES)):
        return item.function.__module__, item.function.__qualname__
    return item.parent, _name(item)


def _on_one_surface(cases: list[pytest.Item]) -> list[pytest.Item]:
    if not module_of(cases[0]).startswith(_SURFACES):
        return cases
    surfaces = sorted({_surface(case) for case in cases})
    chosen = one_of(surfaces, _name(cases[0]))
    return [case for case in cases if _surface(case) in chosen]


def _surface(case: pytest.Item) -> str:
    """Return a class of tests of one surface, and the way in which people's actions arrive there."""
    return f"{case.nodeid.rpartition('::')[0]} {case.callspec.params['stage']}"  # type: ignore[attr-defined]


def _some_on_postgresql(cases: list[pytest.Item]) -> list[pytest.Item]:
    on_sqlite = [case for case in cases if "postgres_server" not in case.fixturenames]  # type: ignore[attr-defined]
    is_third = crc32(_name(cases[0]).encode()) % 3 == 0
    return (
        on_sqlite
        if on_sqlite and module_of(cases[0]).startswith(_STORES) and not is_third
        else cases
    )


def _few_sets(cases: list[pytest.Item]) -> list[pytest.Item]:
    if len(cases) <= _MOST_SETS or cases[0].nodeid.startswith(("tests/meta/", "tests/mutants/")):
        return cases
    others = sorted(cases[1:-1], key=lambda case: crc32(case.name.encode()))
    return [cases[0], *others[: _MOST_SETS - 2], cases[-1]]

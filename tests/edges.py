"""Tests at the edge of a limit: which constants each of them guards.

`tests/meta/test_limits.py` changes every constant, runs what guards it, and wants to see it fail. So such a test takes
no argument, and reads the number that it expects from the platform's rules or writes it down, never from our constant.
"""

from collections.abc import Callable
from types import ModuleType

Test = Callable[[], None]


def edge(*constants: str) -> Callable[[Test], Test]:
    """Marks a test that fails where one of these constants is another number."""

    def mark(test: Test) -> Test:
        vars(test)["edge"] = constants
        return test

    return mark


def edge_tests_by_constant(module: ModuleType) -> dict[str, list[Test]]:
    """The marked tests of a module by the constants that they guard."""
    found: dict[str, list[Test]] = {}
    for test in vars(module).values():
        for constant in getattr(test, "edge", ()):
            found.setdefault(constant, []).append(test)
    return found

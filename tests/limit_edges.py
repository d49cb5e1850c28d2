"""Tests at the edge of a limit, and the constants that each of them guards.

`tests/meta/test_limits.py` changes every constant, runs the tests that guard it, and expects one to fail. Such a test
therefore takes no argument, and takes the expected number from the platform's rules or as a literal, never from our
constant.
"""

from collections.abc import Callable
from types import ModuleType

Test = Callable[[], None]


def edge(*constants: str) -> Callable[[Test], Test]:
    """Mark a test that fails if one of these constants has another value."""

    def mark(test: Test) -> Test:
        vars(test)["edge"] = constants
        return test

    return mark


def edge_tests_by_constant(module: ModuleType) -> dict[str, list[Test]]:
    """Return the marked tests of a module by the constants that they guard."""
    found: dict[str, list[Test]] = {}
    for test in vars(module).values():
        for constant in getattr(test, "edge", ()):
            found.setdefault(constant, []).append(test)
    return found

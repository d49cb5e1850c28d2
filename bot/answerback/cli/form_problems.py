"""The errors in a call, as lines for people."""

from __future__ import annotations

from answerback.core.errors import Problem
from answerback_base.sanitize import one_line


def format_problems(problems: tuple[Problem, ...]) -> list[str]:
    """Format the errors in a call, one per line: where it is, its code, and how to fix it."""
    return [
        one_line(f"{problem.pointer or '/'}: {problem.code}: {problem.message}")
        for problem in problems
    ]

"""The choices of `claude`: how many options a host's tool may send, and whether several of them may be chosen."""

from __future__ import annotations

from typing import Final, NamedTuple

from answerback.core.form import MAX_OPTIONS, MAX_QUESTIONS, Option
from answerback.dialects import choice_forms, claude_extended
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.claude_extended import CHOICE


class Limits(NamedTuple):
    """How many questions a call has at most, and how many options a choice."""

    questions: int
    min_options: int
    options: int


CLAUDE: Final = Limits(questions=4, min_options=2, options=4)
OTHERS: Final = Limits(questions=MAX_QUESTIONS, min_options=0, options=MAX_OPTIONS)


def read_options(node: ArgumentNode, kind: str | None, limits: Limits) -> tuple[Option, ...]:
    """Read the options of a question; only a choice has any."""
    if kind != CHOICE:
        claude_extended.forbid_options(node, kind)
        return ()
    return choice_forms.read_options(
        node,
        min_items=limits.min_options,
        max_items=limits.options,
        previews=True,
        required=limits is CLAUDE,
    )


def read_multiple(node: ArgumentNode) -> bool:
    """Read whether several options may be chosen, by Claude's field or Kimi's."""
    claude, kimi = (node.flag(key, default=False) for key in ("multiSelect", "multi_select"))
    if node.has("multiSelect") and node.has("multi_select") and claude != kimi:
        message = f"{node.name}.multi_select contradicts multiSelect; give only one of them."
        node.fail("unknown_value", message, "multi_select")
    return claude or kimi

"""Which permissions can be decided in a list, and which can be allowed there: those that are read whole. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask
from answerback.core.headline import SHORTENED
from answerback.core.intents import decide_in_batch
from answerback.core.refusals import Refusal
from answerback.core.view import Prompt, view_of
from answerback.presentation.text_fitting import utf16_length

_MAX_UNITS: Final = 600
_MAX_LINES: Final = 12


def can_deny(ask: Ask) -> bool:
    """Whether an ask can be denied together with others."""
    return not isinstance(decide_in_batch(ask, allow=False), Refusal)


def whole_prompt(ask: Ask) -> Prompt | None:
    """Return the prompt of a permission whose whole context fits into a row of a list, where it can then be allowed.

    None if it does not fit, or if it cannot be allowed together with others.
    """
    allowing = decide_in_batch(ask, allow=True)
    prompt = view_of(ask).prompt
    if isinstance(allowing, Refusal) or prompt is None:
        return None
    question = prompt.question
    context, option = question.context or "", question.option(allowing.value)
    has_more = option is None or option.description or option.preview or ask.asides
    fits = utf16_length(context) <= _MAX_UNITS and context.count("\n") < _MAX_LINES
    says_all = bool(context) or not question.text.endswith(SHORTENED)
    return prompt if fits and says_all and not has_more else None

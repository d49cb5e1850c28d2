"""The texts for handing an ask over: a part of `answerback.core.labels`."""

from __future__ import annotations

from answerback.core.ending_labels import EndingLabels


class HandOverLabels(EndingLabels):
    """What is said where an ask can be handed over to somebody else."""

    hand_over: str = "Hand over"
    hand_over_label: str = "To whom"
    hand_over_hint: str = "They are told, and can answer as well. So can you still."
    handed_over: str = "This was handed over to you: {label} is waiting here."
    record_handed_over: str = "Handed over"

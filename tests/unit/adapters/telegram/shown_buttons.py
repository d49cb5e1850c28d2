"""Telegram's buttons as the test suite of surfaces sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from answerback_testing.simulated_people import ShownButton
from tests.fakes.telegram.world import Message


class TelegramButtons(ABC):
    """See `answerback_testing.simulated_people.HasButtons`."""

    _copy: Message

    @abstractmethod
    async def _press(self, label: str) -> str:
        """Press the button with a label; return the note that the person sees."""

    def buttons(self) -> list[ShownButton]:
        return [
            ShownButton(
                each["text"],
                each["callback_data"],
                answers=":answer:" in each["callback_data"] and not each["text"].isdigit(),
                denies=each.get("style") == "danger",
            )
            for each in self._copy.buttons
        ]

    async def press_button(self, shown: ShownButton) -> None:
        await self._press(shown.label)

    def seen_at_once(self) -> str:
        return "\n".join([self._copy.text, *(each["text"] for each in self._copy.buttons)])

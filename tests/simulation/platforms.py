"""The chats of which a seed has one, each in the ways in which it and the service can be connected."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from tests.simulation.chat import Chat
from tests.simulation.devices import Devices
from tests.simulation.discord_chat import DiscordChat
from tests.simulation.evidence import Evidence
from tests.simulation.loop import SimulatedLoop
from tests.simulation.sides import Side
from tests.simulation.sign_ins import SignIns
from tests.simulation.slack_chat import SlackChat
from tests.simulation.telegram_chat import TelegramChat

FRONTS: Final[Mapping[str, Callable[[str], Chat]]] = {
    "Slack by HTTP": partial(SlackChat, by_http=True),
    "Discord by its gateway": partial(DiscordChat, by_http=False),
    "Slack by Socket Mode": partial(SlackChat, by_http=False),
    "Discord by HTTP": partial(DiscordChat, by_http=True),
    "Telegram by long polls": partial(TelegramChat, by_http=False),
    "Telegram by a webhook": partial(TelegramChat, by_http=True),
}
"""The makers of chats, by how each is connected."""
SURFACES: Final = ("slack", "discord", "telegram")
"""The surfaces that the service needs for them."""


def front_of(seed: int) -> str:
    """Return the way in which the chat and the service of a seed are connected: successive seeds take turns."""
    return [*FRONTS][seed % len(FRONTS)]


def side_of(seed: int, loop: SimulatedLoop, evidence: Evidence, people: Mapping[str, str]) -> Side:
    """Return what a seed has beside its chat; each chat meets each in turn."""
    made = (Devices, SignIns)[seed // len(FRONTS) % 2]
    return made(loop, random.Random(f"side {seed}"), evidence, people)


def chat_of(seed: int) -> Chat:
    """Return the chat of a seed, which does not serve yet."""
    front = front_of(seed)
    return FRONTS[front](front)

"""The messages for each ask in `answerback_testing.message_cases`: every installed surface takes part.

The files are in tests/snapshots/test_messages, one for each surface and group of asks. `pytest --snapshot-update`
rewrites them; read the difference first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from syrupy.assertion import SnapshotAssertion

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.runtime.plugins import installed_plugins
from answerback_testing.message_cases import MESSAGE_CASES
from tests.fakes.discord import rules as discord
from tests.fakes.slack import checks as slack
from tests.fakes.telegram import rules as telegram
from tests.unit.adapters.snapshots import Messages, readable

PLUGINS: Final = {plugin.name: plugin for plugin in installed_plugins()}
REFUSALS: Final[dict[str, Callable[[Any], object]]] = {
    "discord": discord.check_message,
    "slack": slack.check_message,
    "telegram": lambda payload: telegram.check_parameters(
        "sendMessage", {"chat_id": "-5", **payload}
    ),
}
"""The check of a platform's rules for a payload, if it has any."""


def payload_of(surface: str, ask: Ask) -> Any:
    """Return what a surface shows of an ask, as JSON."""
    preview = PLUGINS[surface].preview(ask, Labels())
    assert preview is not None, f"the surface {surface} has no preview"
    return json.loads(json.dumps(preview.payload))


@pytest.mark.rule("CLI-6", "SURFACE-2", "SURFACE-4")
@pytest.mark.parametrize("group", MESSAGE_CASES)
@pytest.mark.parametrize("surface", PLUGINS)
def test_each_ask_is_shown_as_before(surface: str, group: str, snapshot: SnapshotAssertion) -> None:
    parts = []
    for name, ask in MESSAGE_CASES[group].items():
        parts.append(f"=== {name}\n{readable(payload_of(surface, ask))}\n")
    assert "\n".join(parts) == snapshot(extension_class=Messages)


@pytest.mark.rule("SLACK-1", "SLACK-2", "SLACK-3", "DISCORD-1", "DISCORD-2", "TELEGRAM-2")
@pytest.mark.parametrize("group", MESSAGE_CASES)
@pytest.mark.parametrize("surface", REFUSALS)
def test_each_message_is_one_that_the_platform_accepts(surface: str, group: str) -> None:
    for name, ask in MESSAGE_CASES[group].items():
        assert not REFUSALS[surface](payload_of(surface, ask)), name

"""What each surface shows of each ask in `answerback_testing.message_cases`: every installed surface takes part.

The files are in tests/snapshots/test_messages, one for each surface and group of asks. `pytest --snapshot-update`
rewrites them; read the difference first.
"""

from __future__ import annotations

import json
from typing import Final

import pytest
from syrupy.assertion import SnapshotAssertion

from answerback.core.labels import Labels
from answerback.runtime.plugins import installed_plugins
from answerback_testing.message_cases import MESSAGE_CASES
from tests.unit.adapters.snapshots import Messages, readable

PLUGINS: Final = {plugin.name: plugin for plugin in installed_plugins()}


@pytest.mark.rule("CLI-6", "SURFACE-2", "SURFACE-4")
@pytest.mark.parametrize("group", MESSAGE_CASES)
@pytest.mark.parametrize("surface", PLUGINS)
def test_each_ask_is_shown_as_before(surface: str, group: str, snapshot: SnapshotAssertion) -> None:
    parts = []
    for name, ask in MESSAGE_CASES[group].items():
        preview = PLUGINS[surface].preview(ask, Labels())
        assert preview is not None, f"the surface {surface} has no preview"
        shown = readable(json.loads(json.dumps(preview.payload)))
        parts.append(f"=== {name}\n{shown}\n")
    assert "\n".join(parts) == snapshot(extension_class=Messages)

"""The texts that each surface shows of an ask, for tests of properties that all surfaces share."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.dialects import registry
from answerback.runtime.plugins import Plugin, installed_plugins
from answerback.service.ask_wire import ask_json
from tests.unit.adapters.slack.asks import ask_of
from tests.unit.adapters.web.test_render_and_parse import shown as web_page
from tests.unit.cases import case_call

LABELS: Final = Labels()


def asked(call: dict[str, Any]) -> Ask:
    """Return an open ask for a call."""
    dialect, form, *_ = registry.parse_call(call["name"], call["arguments"])
    ask = ask_of(form)
    request = ask.request.model_copy(update={**call, "dialect": dialect})
    return replace(ask, request=request)


def case(name: str) -> Ask:
    """Return an open ask for the call of a case in ``tests/data/cases``."""
    return asked(case_call(name))


def _previewed(plugin: Plugin, ask: Ask) -> str:
    """Return the output of `answerback preview` for an ask on a surface."""
    preview = plugin.preview(ask, LABELS)
    assert preview is not None, f"the surface {plugin.name} has no preview"
    return json.dumps(preview.source or preview.payload, ensure_ascii=False)


def _on_the_web(ask: Ask) -> str:
    return web_page(ask).markup


def _in_the_terminal(ask: Ask) -> str:
    screen = io.StringIO()
    output = Vt100_Output(screen, lambda: Size(40, 200))
    with create_app_session(output=output):
        TerminalPrompter(LABELS).show(ask_json(ask))
    return screen.getvalue()


SURFACES: Final[dict[str, Callable[[Ask], str]]] = {
    **{plugin.name: partial(_previewed, plugin) for plugin in installed_plugins()},
    "web": _on_the_web,
    "terminal": _in_the_terminal,
}

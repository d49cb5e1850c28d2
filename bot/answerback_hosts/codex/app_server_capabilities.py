"""The capabilities that the bridge announces to Codex: people answer the bridge, whatever the client itself can ask.

Codex 0.171.0 offers the forms of ``openai/form`` to MCP servers, asks standard forms where everything is allowed
(``openai/standard-form-input``), and asks before a person's own command is run (``requiredHumanApproval``), only if its
client announces that.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback_agents.pipe.json_rpc import as_object

Json = dict[str, JsonValue]

_FORM: Final = "openai/form"
_EXTENSIONS: Final = (_FORM, "openai/standard-form-input")
_LEGACY_FORM: Final = "mcpServerOpenaiFormElicitation"
_HUMAN: Final = "requiredHumanApproval"
_FORM_MODES: Final = (_FORM, "openaiForm")


class ClientCapabilities:
    """The capabilities that the client itself announces."""

    def __init__(self) -> None:
        self._own: Json = {}

    def announce(self, initialize: Json) -> Json:
        """Return the parameters of the client's first request with everything that people can answer."""
        self._own = as_object(initialize.get("capabilities"))
        extensions = {
            **{each: {} for each in _EXTENSIONS},
            **as_object(self._own.get("extensions")),
        }
        more: Json = {"experimentalApi": True, _HUMAN: True, "extensions": extensions}
        return {**initialize, "capabilities": {**self._own, **more}}

    def has_asked_for(self, params: Json) -> bool:
        """Return True if Codex would send a request to the client alone, too."""
        if params.get("kind") == "humanCommand":
            return self._own.get(_HUMAN) is True
        if params.get("mode") in _FORM_MODES:
            is_announced = _FORM in as_object(self._own.get("extensions"))
            return is_announced or self._own.get(_LEGACY_FORM) is True
        return True

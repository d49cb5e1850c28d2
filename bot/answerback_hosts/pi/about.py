"""The names of pi, and the signs by which it is recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

DIALOG: Final = "extension_ui_request"
"""The record by which pi asks its client for a dialog."""
DIALOGS: Final = ("select", "confirm", "input", "editor")
"""The methods of a request that wait for a response."""
ABOUT: Final = About("pi", programs=("pi",), requests=(DIALOG,))

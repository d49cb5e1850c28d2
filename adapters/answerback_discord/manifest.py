"""The settings of the Discord application and the link that installs it, shared by the doctor, docs and tests.

Discord has no manifest file; these are the relevant fields of
https://docs.discord.com/developers/resources/application#edit-current-application.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from pydantic import JsonValue

from answerback_discord.components import Json
from answerback_discord.http_endpoint import PATH
from answerback_discord.limits import ATTACH_FILES, FLAG_MESSAGE_CONTENT_LIMITED, PERMISSIONS

PERMISSION_BITS: Final = sum(PERMISSIONS.values()) | ATTACH_FILES
EXAMPLE_URL: Final = "https://answerback.example.com"
_DESCRIPTION: Final = "An AI agent's questions, asked and answered where you already are."


def application_settings(public_url: str | None) -> Json:
    """Return the fields to set; with ``public_url``, clicks are posted to the endpoint there."""
    install: dict[str, JsonValue] = {"scopes": ["bot"], "permissions": PERMISSION_BITS}
    settings: Json = {
        "description": _DESCRIPTION,
        "tags": ["agents", "questions"],
        "install_params": install,
        "integration_types_config": {"0": {"oauth2_install_params": install}},
        "flags": FLAG_MESSAGE_CONTENT_LIMITED,
    }
    if public_url is not None:
        settings["interactions_endpoint_url"] = interactions_url(public_url)
    return settings


def interactions_url(public_url: str) -> str:
    return public_url.rstrip("/") + PATH


def install_url(application_id: str) -> str:
    """Return the URL with which a server's admin installs the app, with no more permissions than it uses."""
    query = urlencode(
        {"client_id": application_id, "scope": "bot", "permissions": str(PERMISSION_BITS)}
    )
    return f"https://discord.com/oauth2/authorize?{query}"

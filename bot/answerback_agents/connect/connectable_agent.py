"""An agent that can be connected: its configuration files, the entries for these, and its limitations."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode

from pydantic import JsonValue

from answerback_agents.connect.change_plan import Target
from answerback_agents.connect.config_files import ConfigFile
from answerback_agents.connect.jsonc_edit import JsoncFormat
from answerback_agents.connect.settings_entries import NAME, Entry, Format, Json

DEFAULT_URL: Final = "http://127.0.0.1:8420"
DEFAULT_TOKEN_ENV: Final = "ANSWERBACK_TOKEN"


class Scope(StrEnum):
    """The configuration to change: the user's or the project's."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConnection:
    """The way in which an agent reaches the service."""

    url: str = DEFAULT_URL
    token_env: str | None = None
    """The environment variable with the token; None if no token is needed."""
    to: str | None = None
    """Where to ask if the model does not say; None: the token's route, or else the default route."""
    urgency: str | None = None
    """The urgency of what is asked, unless the model says it; None: the route's."""
    program: str = NAME
    """The command that starts this program."""
    uploads: bool = True
    """False if no picture of the session's folder is uploaded, whatever a question names."""

    def hook_command(self, agent: str) -> str:
        arguments = [self.program, "hook", agent]
        arguments += [] if self.url == DEFAULT_URL else ["--url", self.url]
        if self.token_env not in (None, DEFAULT_TOKEN_ENV):
            arguments += ["--token-env", str(self.token_env)]
        return shlex.join([*arguments, *self.options])

    @property
    def options(self) -> list[str]:
        """The options of our commands: where to ask, how urgent it is, and whether pictures are uploaded."""
        to = [] if self.to is None else ["--to", self.to]
        urgency = [] if self.urgency is None else ["--urgency", self.urgency]
        return [*to, *urgency, *([] if self.uploads else ["--no-upload"])]

    @property
    def mcp_url(self) -> str:
        said = {"to": self.to, "urgency": self.urgency}
        query = urlencode({name: value for name, value in said.items() if value is not None})
        return f"{self.url}/mcp" + (f"?{query}" if query else "")

    def server(self, key: str = "url", variable: str = "${{{}}}", **more: JsonValue) -> Json:
        """The configuration of the MCP server.

        Args:
            key: the host's key for the address.
            variable: the host's syntax for an environment variable.
        """
        server: Json = {key: self.mcp_url}
        if self.token_env is not None:
            server["headers"] = {"Authorization": f"Bearer {variable.format(self.token_env)}"}
        return {**server, **more}


class AgentFile(NamedTuple):
    """A configuration file of an agent, and its entries."""

    names: Sequence[str]
    """Paths relative to the scope's folder: the first one that exists is used, or else the first one."""
    entries: Callable[[ServiceConnection], Sequence[Entry]]
    format: Format | None = None
    """If it is not the format of the agent's other files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectableAgent:
    title: str
    places: dict[Scope, Sequence[AgentFile]]
    home: Callable[[], Path]
    """The folder of the user's configuration."""
    limitations: Sequence[str]
    """The things that do not work, one sentence each."""
    next_steps: Sequence[str]
    """The things that the person has to do, one sentence each."""
    token_option: str = ""
    """The option, `{header}` in a next step, by which a command of the host's takes the token's variable."""
    format: Format = field(default_factory=JsoncFormat)
    hints: dict[Scope, str] = field(default_factory=dict)
    """Why a scope is not supported, and what to do instead."""

    def targets(self, scope: Scope, service: ServiceConnection, project: Path) -> list[Target]:
        folder = self.home() if scope is Scope.USER else project
        return [
            Target(
                ConfigFile(_first_existing(folder, place.names), folder),
                place.format or self.format,
                place.entries(service),
            )
            for place in self.places[scope]
        ]


def _first_existing(folder: Path, names: Sequence[str]) -> Path:
    existing = (path for name in names if (path := folder / name).exists())
    return next(existing, folder / names[0])

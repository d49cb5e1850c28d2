"""The settings: one TOML file, every key also an environment variable, frozen once read.

Owns what can be configured and the words for what is configured wrongly. Nothing here is read at
import; `load` gives one `Settings`, which is passed down.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from answerback.core.labels import Labels
from answerback.service.routing import ToolRule
from answerback.service.submission import Route

PREFIX: Final = "ANSWERBACK_"
NOT_KEYS: Final = frozenset({"ANSWERBACK_CONFIG", "ANSWERBACK_TOKEN", "ANSWERBACK_URL"})
"""Variables of the commands themselves; every other variable of ours has to be a key."""
SURFACES: Final = frozenset({"web", "slack", "discord"})
"""Every surface there is; an ask for one that is not configured fails in words for the model."""
TOKEN_HASH: Final = r"^sha256:[0-9a-f]{64}$"

Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _split(value: object) -> object:
    """In an environment variable a list is written ``a, b``; one name may stand for a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _whsec(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise ValueError("a secret is whsec_ and 24 to 64 bytes in base64 after it")
    return secret


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank: give it words, or leave it out")
    return text


def _http(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host")
    return address


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Secrets = Annotated[
    tuple[Annotated[SecretStr, AfterValidator(_whsec)], ...], NoDecode, BeforeValidator(_split)
]
HttpUrl = Annotated[str, AfterValidator(_http)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Server(_Table):
    """Where the agents' API listens; port 0 picks a free one."""

    host: str = "127.0.0.1"
    port: Port = 8420


class Public(_Table):
    """The listener that the world may reach: only with a port. ``url`` is its address as the world sees it."""

    host: str = "127.0.0.1"
    port: Port | None = None
    url: HttpUrl | None = None


class Storage(_Table):
    """Where asks are kept."""

    url: str = "sqlite:///answerback.db"

    @property
    def sqlite_path(self) -> Path:
        """The database file."""
        return Path(unquote(self.url.removeprefix("sqlite:///")))

    @model_validator(mode="after")
    def _known(self) -> Self:
        scheme, _, rest = self.url.partition("://")
        if scheme in {"postgresql", "postgres"}:
            raise ValueError(
                "PostgreSQL is not supported by this release yet; use sqlite:///answerback.db"
            )
        if scheme != "sqlite" or not rest.startswith("/") or rest in {"/", "/:memory:"}:
            raise ValueError(
                "a database is sqlite:///a/relative.db or sqlite:////an/absolute.db, a file that lasts"
            )
        return self


class Agent(_Table):
    """One token: an agent's, or with the role ``surface`` that of a custom front end."""

    token_hash: Annotated[str, Field(pattern=TOKEN_HASH)]
    role: Literal["agent", "surface"] = "agent"
    routes: Names = ()
    """The routes it may use; none: every one, and places by address too."""
    callback_secret: Secrets = ()
    """Signs its webhooks; several while one is replaced by another."""
    label: Annotated[str, Field(max_length=100), AfterValidator(_not_blank)] | None = None
    """Who asks, as people see it; without it the agent's name."""


class Slack(_Table):
    """The Slack surface; there is one once ``bot_token`` is set. ``app_token`` means Socket Mode."""

    bot_token: SecretStr | None = None
    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    responders: Names = ()
    api_url: HttpUrl | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.bot_token is None and (self.app_token or self.signing_secret):
            raise ValueError("bot_token is missing: without it nothing can be posted to Slack")
        if self.bot_token and not (self.app_token or self.signing_secret):
            raise ValueError(
                "clicks cannot come in: add app_token (Socket Mode) or signing_secret (HTTP)"
            )
        return self


class Discord(_Table):
    """The Discord surface; there is one once ``bot_token`` is set. ``public_key`` means clicks come by HTTP."""

    bot_token: SecretStr | None = None
    public_key: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{64}$")] | None = None
    responders: Names = ()
    api_url: HttpUrl | None = None
    gateway: bool = True
    message_content: bool = True
    """Whether to ask for the privileged intent by which every typed message can be read."""
    shards: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """How many gateway connections share the servers."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.bot_token is None and self.public_key is not None:
            raise ValueError("bot_token is missing: without it nothing can be posted to Discord")
        if self.bot_token and not self.gateway and self.public_key is None:
            raise ValueError("clicks cannot come in: add public_key, or leave gateway on")
        return self


class Callbacks(_Table):
    """Where webhooks may go, and what signs them where there are no agent tokens."""

    allow: Names = ()
    """Hosts and networks beside loopback and public addresses."""
    secret: Secrets = ()


class Inquiry(_Table):
    """The backend that may answer what is not a person's to answer."""

    url: HttpUrl | None = None
    timeout: Seconds = 30.0


class Log(_Table):
    """What is logged to standard error, and how; by default for people on a terminal, else as JSON."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] | None = None


class Settings(BaseSettings):
    """Everything that can be configured."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        hide_input_in_errors=True,
    )

    server: Server = Server()
    public: Public = Public()
    storage: Storage = Storage()
    default_route: str = "web"
    routes: dict[str, Route] = {}
    agents: dict[str, Agent] = {}
    slack: Slack = Slack()
    discord: Discord = Discord()
    callbacks: Callbacks = Callbacks()
    inquiry: Inquiry = Inquiry()
    tools: dict[str, ToolRule] = {}
    labels: Labels = Labels()
    log: Log = Log()

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if not self.agents and not is_loopback(self.server.host):
            raise ValueError(
                f"server.host {self.server.host} is reachable from other machines, and no agent has "
                "a token: run `answerback token create NAME` and add what it prints, or bind 127.0.0.1"
            )
        by_http = {
            "slack.signing_secret without slack.app_token": (
                self.slack.bot_token and not self.slack.app_token
            ),
            "discord.public_key": self.discord.public_key,
        }
        for key, on in by_http.items():
            if on and self.public.port is None:
                raise ValueError(
                    f"{key} means that clicks come by HTTP, and no listener takes them: set public.port"
                )
        for name, agent in self.agents.items():
            for route in agent.routes:
                if route not in {*self.routes, self.default_route}:
                    raise ValueError(
                        f"agents.{name}.routes names {route!r}, and there is no [routes.{route}]"
                    )
        return self


def is_loopback(host: str) -> bool:
    """Whether a bind address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

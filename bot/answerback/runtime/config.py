"""The settings: one TOML file, every key also an environment variable, frozen once read.

Owns what can be configured and the words for what is configured wrongly. Nothing here is read at
import; `load_settings` gives one `Settings`, which is passed down.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    create_model,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from answerback.core.errors import ConfigError
from answerback.core.labels import Labels
from answerback.ports.plugin import SurfacePlugin, SurfaceSettings
from answerback.ports.settings_tables import HttpUrl, Names, Port, Seconds, Table, split_list
from answerback.runtime.plugins import Plugins, installed_plugins
from answerback.service.question_routing import ToolRule
from answerback.service.submission_request import Route

ENV_PREFIX: Final = "ANSWERBACK_"
NON_SETTING_VARIABLES: Final = frozenset(
    {"ANSWERBACK_CONFIG", "ANSWERBACK_TOKEN", "ANSWERBACK_URL"}
)
"""Variables of the commands themselves; every other variable of ours has to be a key."""
POSTGRES_SCHEMES: Final = frozenset({"postgresql", "postgres"})
"""Schemes of PostgreSQL's addresses (https://www.postgresql.org/docs/current/libpq-connect.html)."""
TOKEN_HASH_PATTERN: Final = r"^sha256:[0-9a-f]{64}$"


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


Days = Annotated[float, Field(gt=0, le=36_500)]
Secrets = Annotated[
    tuple[Annotated[SecretStr, AfterValidator(_whsec)], ...], NoDecode, BeforeValidator(split_list)
]


class ServerSettings(Table):
    """Where the agents' API listens; port 0 picks a free one."""

    host: str = "127.0.0.1"
    port: Port = 8420


class PublicSettings(Table):
    """The listener that the world may reach: only with a port. ``url`` is its address as the world sees it."""

    host: str = "127.0.0.1"
    port: Port | None = None
    url: HttpUrl | None = None


class StorageSettings(Table):
    """Where asks are kept."""

    url: str = "sqlite:///answerback.db"
    listen_url: str | None = None
    """PostgreSQL itself, where ``url`` is a pooler: notifications are heard there."""

    @property
    def uses_postgres(self) -> bool:
        """Whether it is a PostgreSQL database."""
        return _scheme(self.url) in POSTGRES_SCHEMES

    @property
    def sqlite_path(self) -> Path:
        """The database file; for PostgreSQL, the name beside which the person's key is kept."""
        url = StorageSettings.model_fields["url"].default if self.uses_postgres else self.url
        return Path(unquote(url.removeprefix("sqlite:///")))

    @property
    def name(self) -> str:
        """The database, for people: without its password."""
        if not self.uses_postgres:
            return str(self.sqlite_path.absolute())
        parts = urlsplit(self.url)
        return f"{parts.path.removeprefix('/')} on {parts.netloc.rpartition('@')[2]}"

    @model_validator(mode="after")
    def _known(self) -> Self:
        scheme, _, rest = self.url.partition("://")
        if self.listen_url is not None and not (
            self.uses_postgres and _scheme(self.listen_url) in POSTGRES_SCHEMES
        ):
            raise ValueError(
                "listen_url is the postgresql:// address of the server behind a pooler"
            )
        if self.uses_postgres:
            if not urlsplit(self.url).path.strip("/"):
                raise ValueError("a database is postgresql://user@host:5432/name")
        elif scheme != "sqlite" or not rest.startswith("/") or rest in {"/", "/:memory:"}:
            raise ValueError(
                "a database is sqlite:///a/relative.db or sqlite:////an/absolute.db, a file that lasts, or"
                " postgresql://user@host/name"
            )
        return self


def _scheme(url: str) -> str:
    return url.partition("://")[0]


class AgentSettings(Table):
    """One token: an agent's, or with the role ``surface`` that of a custom front end."""

    token_hash: Annotated[str, Field(pattern=TOKEN_HASH_PATTERN)]
    role: Literal["agent", "surface"] = "agent"
    routes: Names = ()
    """The routes it may use; none: every one, and places by address too."""
    callback_secret: Secrets = ()
    """Signs its webhooks; several while one is replaced by another."""
    label: Annotated[str, Field(max_length=100), AfterValidator(_not_blank)] | None = None
    """Who asks, as people see it; without it the agent's name."""


class CallbackSettings(Table):
    """Where webhooks may go, and what signs them where there are no agent tokens."""

    allow: Names = ()
    """Hosts and networks beside loopback and public addresses."""
    secret: Secrets = ()


class InquirySettings(Table):
    """The backend that may answer what is not a person's to answer."""

    url: HttpUrl | None = None
    timeout: Seconds = 30.0


class RetentionSettings(Table):
    """How long what was said is kept: days, or a part of one; without, for ever."""

    days: Days | None = None
    """After its end, what was written in an ask is erased."""
    audit_days: Days | None = None
    """Lines of the record about refused calls are forgotten."""


class LogSettings(Table):
    """What is logged to standard error, and how; by default for people on a terminal, else as JSON."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] | None = None


class Settings(BaseSettings):
    """Everything that can be configured, without the surfaces' tables: those are in `settings_type`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
        hide_input_in_errors=True,
    )

    server: ServerSettings = ServerSettings()
    public: PublicSettings = PublicSettings()
    storage: StorageSettings = StorageSettings()
    default_route: str = Field(default_factory=lambda: installed_plugins().home)
    routes: dict[str, Route] = {}
    agents: dict[str, AgentSettings] = {}
    callbacks: CallbackSettings = CallbackSettings()
    inquiry: InquirySettings = InquirySettings()
    tools: dict[str, ToolRule] = {}
    labels: Labels = Labels()
    retention: RetentionSettings = RetentionSettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if not self.agents and not is_loopback(self.server.host):
            raise ValueError(
                f"server.host {self.server.host} is reachable from other machines, and no agent has "
                "a token: run `answerback token create NAME` and add what it prints, or bind 127.0.0.1"
            )
        for name in type(self).model_fields:
            table = getattr(self, name)
            if isinstance(table, SurfaceSettings):
                self._reachable(table)
        for name, agent in self.agents.items():
            for route in agent.routes:
                if route not in {*self.routes, self.default_route}:
                    raise ValueError(
                        f"agents.{name}.routes names {route!r}, and there is no [routes.{route}]"
                    )
        return self

    def _reachable(self, table: SurfaceSettings) -> None:
        """Raises where people act by HTTP, and the public listener is not there or does not know its address."""
        if (key := table.http_actions_setting()) and self.public.port is None:
            raise ValueError(
                f"{key} means that clicks come by HTTP, and no listener takes them: set public.port"
            )
        if (key := table.public_address_setting()) and self.public.url is None:
            raise ValueError(f"{key} needs the address at which people reach it: set public.url")


def settings_type(plugins: Plugins | None = None) -> type[Settings]:
    """The settings with a table for each surface; that of a broken plug-in refuses everything, and says why.

    Raises:
        ConfigError: a surface has the name of another table.
    """
    return _with_tables_of(plugins or installed_plugins())


@cache
def _with_tables_of(plugins: Plugins) -> type[Settings]:
    if taken := plugins.names & Settings.model_fields.keys():
        raise ConfigError(
            f"The plug-in {min(taken)!r} has the name of a table of the service's own settings; uninstall it."
        )
    tables: dict[str, Any] = {
        plugin.name: (plugin.settings, plugin.settings()) for plugin in plugins
    }
    tables |= {name: (_refusing(why), None) for name, why in plugins.broken.items()}
    return create_model("Settings", __base__=Settings, **tables)


def _refusing(why: str) -> object:
    def refuse(value: object) -> object:
        if value is not None:
            raise ValueError(why)
        return value

    return Annotated[dict[str, Any] | None, BeforeValidator(refuse)]


T = TypeVar("T", bound=SurfaceSettings)


def plugin_settings(settings: Settings, plugin: SurfacePlugin[T]) -> T:
    """A surface's own settings: as they are configured, else its defaults."""
    table = getattr(settings, plugin.name, None)
    return table if isinstance(table, plugin.settings) else plugin.settings()


def is_loopback(host: str) -> bool:
    """Whether a bind address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

"""The settings: one TOML file, with every key also available as an environment variable. Frozen once loaded.

This module defines the keys, their validation and its error messages. Nothing is read at import;
`load_settings` returns one `Settings`, which is passed down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from answerback.core.errors import ConfigError
from answerback.core.labels import Labels
from answerback.core.people import PERSON_PREFIX
from answerback.dialects import installed
from answerback.dialects.call_reader import did_you_mean
from answerback.dialects.installed import installed_dialects
from answerback.ports.extension import Extension
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.plugin import SurfacePlugin, SurfaceSettings
from answerback.ports.settings_tables import (
    ExtensionTable,
    HttpUrl,
    LimitSettings,
    Names,
    Port,
    Seconds,
    Table,
)
from answerback.ports.store_plugin import StorePlugin
from answerback.runtime.agent_settings import AgentSettings
from answerback.runtime.plugins import Plugin, Plugins, installed_plugins
from answerback.runtime.stores import installed_stores, store_of
from answerback.service.question_routing import NotBlank, ToolRule
from answerback.service.submission_request import Route
from answerback_base.addresses import is_loopback
from answerback_base.entry_points import Discovered

ENV_PREFIX: Final = "ANSWERBACK_"
NON_SETTING_VARIABLES: Final = frozenset(
    {"ANSWERBACK_CONFIG", "ANSWERBACK_MCP_POLICY", "ANSWERBACK_TOKEN", "ANSWERBACK_URL"}
)
"""Variables that the commands read; every other variable with our prefix must be a setting."""
_DEFAULT_FILE: Final = "answerback.db"
_LIKELY_MISSPELLED: Final = 0.85
"""The similarity, by difflib, from which a tool's name is a misspelled one: another word may be a tool of its own."""


def _own_tool_names() -> set[str]:
    return {*installed.tool_names(), *installed_dialects().usable}


def other_tool_names(tools: Collection[str]) -> list[str]:
    """Return the names under ``tools`` that are not ours: they only apply to what `tool_question` asks for them."""
    return sorted(set(tools) - _own_tool_names())


def _check_tool_name(name: str) -> str:
    """Refuse a name that is almost that of a tool of ours; any other may be a tool that `tool_question` asks for."""
    known = _own_tool_names()
    if name not in known and (meant := did_you_mean(name, known, _LIKELY_MISSPELLED)):
        raise ValueError(f"there is no tool of this name{meant}")
    return name


Days = Annotated[float, Field(gt=0, le=36_500)]


class ServerSettings(Table):
    """The address where the agents' API listens; port 0 picks a free port."""

    host: str = "127.0.0.1"
    port: Port = 8420


EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})


def listener_url(host: str, port: int) -> str:
    """The URL at which a program on this machine reaches a listener."""
    host = "127.0.0.1" if host in EVERY_ADDRESS else host
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class PublicSettings(Table):
    """The public listener, which exists only if a port is set. ``url`` is the address at which the world reaches it."""

    host: str = "127.0.0.1"
    port: Port | None = None
    url: HttpUrl | None = None


class StorageSettings(Table):
    """Where asks are stored."""

    url: str = f"sqlite:///{_DEFAULT_FILE}"
    listen_url: str | None = None
    """The PostgreSQL server itself, if ``url`` is a pooler's; used to receive notifications."""

    @property
    def plugin(self) -> StorePlugin:
        """The kind of database, by the scheme of ``url``."""
        plugin = store_of(self.url)
        assert plugin is not None, "it was when this was validated"
        return plugin

    @property
    def file(self) -> Path:
        """The database's file, beside which keys are stored; if it has none, the default one, which need not exist."""
        return self.plugin.file(self.url) or Path(_DEFAULT_FILE)

    @property
    def name(self) -> str:
        """The database's name for people, without its password."""
        return self.plugin.label(self.url)

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        plugin = store_of(self.url)
        if plugin is None:
            broken = "".join(f". {why}" for why in installed_stores().broken.values())
            raise ValueError(
                "a database is sqlite:///a/relative.db or sqlite:////an/absolute.db (a file, not :memory:), or"
                f" postgresql://user@host/name{broken}"
            )
        if (problem := plugin.problem(self.url, self.listen_url)) is not None:
            raise ValueError(problem)
        return self


class PersonSettings(Table):
    """One person and their accounts on the surfaces."""

    name: Annotated[NotBlank, Field(max_length=100)] | None = None
    ids: Annotated[Names, Field(min_length=1)]
    """Each as ``surface:id``, or ``oidc:ISSUER#SUBJECT`` for who signs in on the page with the identity provider."""

    @field_validator("ids")
    @classmethod
    def _check_ids(cls, ids: tuple[str, ...]) -> tuple[str, ...]:
        for each in ids:
            surface, colon, user_id = each.partition(":")
            if not (surface and colon and user_id):
                raise ValueError(f"{each!r} must be the name of a surface, a colon and an id there")
        home = installed_plugins().home
        return tuple(f"{home}:{each}" if each.startswith("oidc:") else each for each in ids)


class McpSettings(Table):
    """The MCP server."""

    wait: Annotated[float, Field(ge=0, le=3_600)] = 50.0
    """Maximum seconds that a call waits, if its URL does not say."""


class TracingSettings(Table):
    """Where traces are sent; the SDK's own variables (``OTEL_…``) configure the rest."""

    endpoint: HttpUrl | None = None


class InquirySettings(Table):
    """The inquiry backend, which may answer questions that do not need a person."""

    url: HttpUrl | None = None
    timeout: Seconds = 30.0


class RetentionSettings(Table):
    """The time for which content is kept, in days or fractions of a day; by default, for ever."""

    days: Days | None = None
    """The content of an ask is erased this many days after its end."""
    audit_days: Days | None = None
    """Lines of the record about refused calls are deleted after this many days."""


class LogSettings(Table):
    """The level and the format of the log on standard error; by default, text on a terminal and otherwise JSON."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["console", "json"] | None = None


class Settings(BaseSettings):
    """All settings except the tables of surfaces and extensions, which `settings_type` adds."""

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
    people: dict[str, PersonSettings] = {}
    limits: LimitSettings = LimitSettings()
    mcp: McpSettings = McpSettings()
    inquiry: InquirySettings = InquirySettings()
    tracing: TracingSettings = TracingSettings()
    tools: dict[Annotated[str, AfterValidator(_check_tool_name)], ToolRule] = {}
    labels: Labels = Labels()
    retention: RetentionSettings = RetentionSettings()
    log: LogSettings = LogSettings()

    @property
    def uses_tokens(self) -> bool:
        """True if agents need tokens, even if there are none yet."""
        return bool(self.agents) or self.adds_agents

    @property
    def adds_agents(self) -> bool:
        """True if an extension may have agents besides those of the configuration."""
        return any(table.adds_agents() for _, table in self.extension_tables())

    def extension_tables(self) -> Iterator[tuple[str, ExtensionTable]]:
        """Yield the tables of extensions that mean something to the service, with their names."""
        for name in type(self).model_fields:
            table = getattr(self, name)
            if isinstance(table, ExtensionTable):
                yield name, table

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if not self.uses_tokens and not is_loopback(self.server.host):
            raise ValueError(
                f"server.host {self.server.host} is reachable from other machines, but no agent has a "
                "token: run `answerback token create NAME` and add what it prints, or use 127.0.0.1"
            )
        for name in type(self).model_fields:
            table = getattr(self, name)
            if isinstance(table, SurfaceSettings):
                self._check_reachable(table)
        named = {f"agents.{name}.routes": agent.routes for name, agent in self.agents.items()}
        for name, extension_table in self.extension_tables():
            for key, route in extension_table.named_routes().items():
                named[f"{name}.{key}"] = (route,)
        for key, routes in named.items():
            for route in routes:
                if route not in {*self.routes, self.default_route}:
                    raise ValueError(f"{key} names {route!r}, but there is no [routes.{route}]")
        return self

    @model_validator(mode="after")
    def _check_people(self) -> Self:
        owners: dict[str, str] = {}
        for name, person in self.people.items():
            for each in person.ids:
                if (other := owners.setdefault(each, name)) != name:
                    raise ValueError(f"people.{name}.ids names {each!r}, which belongs to {other}")
        for key, name in _named_people(self):
            if name not in self.people:
                raise ValueError(f"{key} names {name!r}, but there is no [people.{name}]")
        # Any other name may be that of a front end's place.
        surfaces = [plugin.name for plugin in installed_plugins()]
        for key, account in _named_accounts(self):
            surface = account.partition(":")[0]
            meant = get_close_matches(surface.lower(), surfaces, 1, 0.7)
            if surface not in surfaces and meant:
                raise ValueError(
                    f"{key} names {account!r}, but there is no surface {surface!r} (did you mean {meant[0]!r}?)"
                )
        return self

    def _check_reachable(self, table: SurfaceSettings) -> None:
        """Check that a surface that needs the public listener has it, and that it knows its public URL."""
        if (key := table.http_actions_setting()) and self.public.port is None:
            raise ValueError(
                f"{key} means that clicks arrive over HTTP, but there is no public listener: set public.port"
            )
        if (key := table.public_address_setting()) and self.public.url is None:
            raise ValueError(f"{key} needs a public address: set public.url")


def _named_people(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the people that other settings name, with the key of each."""
    for agent_name, agent in settings.agents.items():
        if agent.owner is not None:
            yield f"agents.{agent_name}.owner", agent.owner
    for key, names in _responder_lists(settings):
        for each in names or ():
            if each.startswith(PERSON_PREFIX):
                yield key, each.removeprefix(PERSON_PREFIX)


def _named_accounts(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the accounts that settings name as ``surface:id``, with the key of each."""
    people = ((f"people.{name}.ids", person.ids) for name, person in settings.people.items())
    for key, names in (*people, *_responder_lists(settings)):
        for each in names or ():
            if ":" in each and not each.startswith(PERSON_PREFIX):
                yield key, each


def _responder_lists(settings: Settings) -> Iterator[tuple[str, Sequence[str] | None]]:
    """Yield the lists of who may act, with the key of each."""
    for table_name, table in settings.extension_tables():
        for key, names in table.named_people().items():
            yield f"{table_name}.{key}", names
    for name, route in settings.routes.items():
        yield f"routes.{name}.responders", route.responders
        if route.escalate is not None:
            yield f"routes.{name}.escalate.responders", route.escalate.responders
        if route.confirmations is not None:
            yield f"routes.{name}.confirmations.from", route.confirmations.confirmers
    for plugin in installed_plugins():
        yield (
            f"{plugin.name}.responders",
            getattr(plugin_settings(settings, plugin), "responders", None),
        )


def settings_type(plugins: Plugins | None = None) -> type[Settings]:
    """The settings model with a table for each surface and extension; a broken plug-in's is refused with the reason.

    Raises:
        ConfigError: a plug-in has the name of one of the service's tables.
    """
    return _with_tables_of(plugins or installed_plugins(), installed_extensions())


@cache
def _with_tables_of(plugins: Plugins, installed: Discovered[Extension]) -> type[Settings]:
    extensions = [each for each in installed.usable.values() if each.table]
    names = [*plugins.names, *(each.table for each in extensions)]
    if clashing := {
        each for each in names if each in Settings.model_fields or names.count(each) > 1
    }:
        raise ConfigError(
            f"The plug-in {min(clashing)!r} has the name of one of the service's own tables; uninstall it."
        )
    tables: dict[str, Any] = {}
    for plugin in plugins:
        table = _with_added_keys(plugin, installed.usable.values())
        tables[plugin.name] = (table, table())
    tables |= {each.table: (each.settings, each.settings()) for each in extensions}
    broken = {**installed.broken, **plugins.broken}
    tables |= {name: (_refused_table(why), None) for name, why in broken.items()}
    return create_model("Settings", __base__=Settings, **tables)


def _with_added_keys(plugin: Plugin, extensions: Iterable[Extension]) -> type[SurfaceSettings]:
    """Return the table of a surface, with the keys that extensions add to it.

    Raises:
        ConfigError: two of them have a key of one name.
    """
    own = plugin.settings
    for extension in extensions:
        added = extension.surface_keys.get(plugin.name)
        if added is None:
            continue
        if clashing := own.model_fields.keys() & added.model_fields.keys():
            raise ConfigError(
                f"The extension {extension.name!r} adds the key {min(clashing)!r} to [{plugin.name}], which has one; "
                "uninstall it."
            )
        own = create_model(plugin.settings.__name__, __base__=(added, own))
    return own


def _refused_table(why: str) -> object:
    def refuse(value: object) -> object:
        if value is not None:
            raise ValueError(why)
        return value

    return Annotated[dict[str, Any] | None, BeforeValidator(refuse)]


T = TypeVar("T", bound=SurfaceSettings)


def plugin_settings(settings: Settings, plugin: SurfacePlugin[T]) -> T:
    """A surface's settings: as configured, or else its defaults."""
    table = getattr(settings, plugin.name, None)
    return table if isinstance(table, plugin.settings) else plugin.settings()


def extension_settings(settings: Settings, extension: Extension) -> Table | bool:
    """An extension's settings: as configured, or else its defaults."""
    table = getattr(settings, extension.table, None) if extension.table else None
    return table if isinstance(table, extension.settings) else extension.settings()

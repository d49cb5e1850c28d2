"""Reading the settings: the TOML file, our environment variables and the platforms' customary ones.

Owns what takes precedence (our variables, then the platforms', then the file) and the sentences
for keys that do not exist or hold what they cannot.
"""

from __future__ import annotations

import difflib
import os
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from pydantic_settings.exceptions import SettingsError
from pydantic_settings.sources import InitSettingsSource

from answerback.core.errors import ConfigError
from answerback.runtime.config import ENV_PREFIX, NON_SETTING_VARIABLES, Settings, settings_type
from answerback.runtime.plugins import installed_plugins

DEFAULT_FILE: Final = "answerback.toml"
_ALIKE: Final = 0.7
"""How alike a key has to be to be suggested, as difflib counts: a slip of one or two letters, not another word."""


def load_settings(path: Path | None = None, **overrides: Mapping[str, object]) -> Settings:
    """Reads the configuration.

    Args:
        path: the TOML file; None: ``answerback.toml`` in the working directory, if there is one.
        overrides: tables that a command sets itself, over everything else.

    Raises:
        ConfigError: with every mistake, a line each.
    """
    table = read_toml(path)
    _refuse_unknown_variables()

    class Loaded(settings_type()):  # type: ignore[misc]  # made of the plug-ins that are installed
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            platform_variables = InitSettingsSource(settings_cls, _customary())
            return (
                init_settings,
                env_settings,
                platform_variables,
                InitSettingsSource(settings_cls, table),
            )

    try:
        loaded: Settings = Loaded(**overrides)
        return loaded
    except ValidationError as error:
        where = str(path or DEFAULT_FILE) if table else "the environment"
        lines = [_sentence(detail, where) for detail in error.errors()]
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None
    except SettingsError as error:
        raise ConfigError(_not_json(error)) from None


def read_toml(path: Path | None) -> dict[str, JsonValue]:
    """The configuration file as a table; empty when none was named and there is none.

    Raises:
        ConfigError: it cannot be read, or it is no TOML.
    """
    file = path or Path(DEFAULT_FILE)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if path is None:
            return {}
        raise ConfigError(f"There is no configuration file {file}.") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from None


def platform_variables() -> dict[str, tuple[str, str]]:
    """The variables that people have set for the platforms already: the tables and keys they stand for."""
    return {
        variable: (plugin.name, key)
        for plugin in installed_plugins()
        for variable, key in plugin.variables.items()
    }


def iter_setting_keys(model: type[BaseModel] | None = None, prefix: str = "") -> Iterator[str]:
    """Every key there is, dotted; ``<name>`` stands for a name of one's own."""
    model = model or settings_type()
    for name, field in model.model_fields.items():
        inner = _table_of(field.annotation)
        if inner is None:
            yield prefix + name
        else:
            table, named = inner
            yield from iter_setting_keys(
                table, f"{prefix}{name}.<name>." if named else f"{prefix}{name}."
            )


def _customary() -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = {}
    for variable, (table, key) in platform_variables().items():
        if value := os.environ.get(variable):
            tables.setdefault(table, {})[key] = value
    return tables


def _refuse_unknown_variables() -> None:
    tables = set(settings_type().model_fields)
    unknown = [
        name
        for name in sorted(os.environ)
        if name.upper().startswith(ENV_PREFIX)
        and name.upper() not in NON_SETTING_VARIABLES
        and name.upper().removeprefix(ENV_PREFIX).split("__")[0].lower() not in tables
    ]
    if unknown:
        raise ConfigError(
            "\n".join(
                f"The environment variable {name} is not a setting{_nearest_variable(name)}."
                for name in unknown
            )
        )


def _sentence(error: ErrorDetails, where: str) -> str:
    path = [str(part) for part in error["loc"]]
    if error["type"] not in {"extra_forbidden", "missing"}:
        path = _to_key(path)
    key = ".".join(path)
    variable = ENV_PREFIX + "__".join(path).upper()
    source = variable if any(name.upper() == variable for name in os.environ) else where
    if error["type"] == "extra_forbidden":
        return f"{source}: there is no key {key}{_did_you_mean(_nearest(path))}."
    if error["type"] == "missing":
        return f"{source}: {key} is missing."
    message = error["msg"].removeprefix("Value error, ")
    return f"{source}: {key}: {message}." if key else f"{source}: {message}."


def _to_key(path: list[str]) -> list[str]:
    """The part of a place that is a key: what follows are places in its value, or pydantic's own names."""
    known = set(_known_beside(path))
    for end in range(len(path), 0, -1):
        if ".".join(path[:end]) in known:
            return path[:end]
    return path


def _not_json(error: SettingsError) -> str:
    """Which variables a list or table may have been read from that is not written as JSON."""
    tables = [name for name in settings_type().model_fields if f'"{name}"' in str(error)]
    prefixes = tuple(f"{ENV_PREFIX}{name}".upper() for name in tables)
    names = sorted(name for name in os.environ if name.upper().startswith(prefixes))
    return (
        f"{', '.join(names)}: a list or a table in an environment variable is written as JSON, "
        "such as [60, 600]."
    )


def _known_beside(path: list[str]) -> list[str]:
    """Every key there is, with the names that the path itself uses in place of ``<name>``."""
    found = []
    for key in iter_setting_keys():
        parts = key.split(".")
        named = [
            path[i] if part == "<name>" and i < len(path) else part for i, part in enumerate(parts)
        ]
        found.append(".".join(named))
    return found + sorted({key.rpartition(".")[0] for key in found} - {""})


def _nearest(path: list[str]) -> str | None:
    """The known key that differs from this one in the last part alone, and least."""
    *table, name = path
    known = [key.split(".") for key in _known_beside(path)]
    siblings = {key[len(table)] for key in known if key[: len(table)] == table != key}
    close = difflib.get_close_matches(name, siblings, n=1, cutoff=_ALIKE)
    return ".".join([*table, close[0]]) if close else None


def _nearest_variable(name: str) -> str:
    table, *rest = name.upper().removeprefix(ENV_PREFIX).lower().split("__")
    nearest = _nearest([table])
    return _did_you_mean(nearest and ENV_PREFIX + "__".join([nearest, *rest]).upper())


def _did_you_mean(name: str | None) -> str:
    return f"; did you mean {name}?" if name else ""


def _table_of(annotation: object) -> tuple[type[BaseModel], bool] | None:
    """The model of a nested table and whether it is one of several named by the user."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if typing.get_origin(annotation) is dict:
        inner = _table_of(typing.get_args(annotation)[1])
        return (inner[0], True) if inner else None
    if typing.get_origin(annotation) in {types.UnionType, typing.Union}:
        tables = [_table_of(part) for part in typing.get_args(annotation)]
        return next((table for table in tables if table), None)
    return None

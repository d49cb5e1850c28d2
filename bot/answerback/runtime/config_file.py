"""Load the settings from the TOML file, our environment variables and the platforms' usual ones.

This module defines the precedence (our variables, then the platforms', then the file) and the error
messages for keys that are unknown or have invalid values.
"""

from __future__ import annotations

import difflib
import os
import re
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
_TEXT_BY_TYPE: Final = {
    "tuple_type": 'must be a list, such as ["a", "b"]',
    "string_type": "must be a text in quotation marks",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table"),
}
"""Pydantic's error types in terms of TOML; any other type keeps most of pydantic's own message."""
_PYDANTIC: Final = re.compile("^(Input|String|Tuple) should ")
_MIN_SIMILARITY: Final = 0.7
"""The similarity, by difflib, from which a key is suggested: a typo of one or two letters, not another word."""


def load_settings(path: Path | None = None, **overrides: Mapping[str, object]) -> Settings:
    """Load the configuration.

    Args:
        path: the TOML file; None: ``answerback.toml`` in the working directory, if it exists.
        overrides: tables that a command sets itself; they take precedence over everything else.

    Raises:
        ConfigError: with every error, one per line.
    """
    table = read_toml(path)
    _refuse_unknown_variables()

    class Loaded(settings_type()):  # type: ignore[misc]  # depends on the installed plug-ins
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            platform_variables = InitSettingsSource(settings_cls, _platform_tables())
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
        source_name = str(path or DEFAULT_FILE) if table else "the environment"
        lines: dict[str, str] = {}
        for detail in error.errors():
            where, what = _error_message(detail, source_name)
            # A value of several types can be meant.
            also = f", or {what.removeprefix('must be ')}" if where in lines else what
            lines[where] = lines.get(where, "") + also
        raise ConfigError("\n".join(f"{''.join(line)}." for line in lines.items())) from None
    except SettingsError as error:
        raise ConfigError(_json_error_message(error)) from None


def read_toml(path: Path | None) -> dict[str, JsonValue]:
    """Read the configuration file as a table; empty if the default file does not exist.

    Raises:
        ConfigError: the file is missing, unreadable or not TOML.
    """
    file = path or Path(DEFAULT_FILE)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if path is None:
            return {}
        raise ConfigError(f"There is no configuration file {file}.") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.") from None


def platform_variables() -> dict[str, tuple[str, str]]:
    """Map the platforms' usual environment variables to the tables and keys they set."""
    return {
        variable: (plugin.name, key)
        for plugin in installed_plugins()
        for variable, key in plugin.variables.items()
    }


def iter_setting_keys(model: type[BaseModel] | None = None, prefix: str = "") -> Iterator[str]:
    """Yield every key in dotted form; ``<name>`` stands for a name that the user chooses."""
    model = model or settings_type()
    for name, field in model.model_fields.items():
        nested = _table_of(field.annotation)
        if nested is None:
            yield prefix + name
        else:
            table, has_names = nested
            yield from iter_setting_keys(
                table, f"{prefix}{name}.<name>." if has_names else f"{prefix}{name}."
            )


def _platform_tables() -> dict[str, dict[str, str]]:
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


def _error_message(error: ErrorDetails, source_name: str) -> tuple[str, str]:
    """Return where an error is, and what is wrong with the value there."""
    path = [str(part) for part in error["loc"]]
    if error["type"] not in {"extra_forbidden", "missing"}:
        path = _key_part(path)
    key = ".".join(path)
    variable = ENV_PREFIX + "__".join(path).upper()
    source = variable if any(name.upper() == variable for name in os.environ) else source_name
    if error["type"] == "extra_forbidden":
        return f"{source}: there is no key {key}{_did_you_mean(_nearest(path))}", ""
    if error["type"] == "missing":
        return f"{source}: {key} is missing", ""
    message = _PYDANTIC.sub("must ", error["msg"]).removeprefix("Value error, ")
    where = f"{source}: {key}: " if key else f"{source}: "
    return where, _TEXT_BY_TYPE.get(error["type"], message)


def _key_part(path: list[str]) -> list[str]:
    """The part of an error's location that is a key; the rest points into its value, or is pydantic's."""
    known = set(_known_keys(path))
    for end in range(len(path), 0, -1):
        if ".".join(path[:end]) in known:
            return path[:end]
    return path


def _json_error_message(error: SettingsError) -> str:
    """The message for a variable that is not valid JSON, with the variables that may be meant."""
    tables = [name for name in settings_type().model_fields if f'"{name}"' in str(error)]
    prefixes = tuple(f"{ENV_PREFIX}{name}".upper() for name in tables)
    names = sorted(name for name in os.environ if name.upper().startswith(prefixes))
    return (
        f"{', '.join(names)}: a list or a table in an environment variable must be written as JSON, "
        "such as [60, 600]."
    )


def _known_keys(path: list[str]) -> list[str]:
    """All keys, with the names that the path uses in place of ``<name>``."""
    keys = []
    for key in iter_setting_keys():
        parts = key.split(".")
        named = [
            path[i] if part == "<name>" and i < len(path) else part for i, part in enumerate(parts)
        ]
        keys.append(".".join(named))
    return keys + sorted({key.rpartition(".")[0] for key in keys} - {""})


def _nearest(path: list[str]) -> str | None:
    """The most similar known key that differs from this one only in its last part."""
    *table, name = path
    known = [key.split(".") for key in _known_keys(path)]
    siblings = {key[len(table)] for key in known if key[: len(table)] == table != key}
    close = difflib.get_close_matches(name, siblings, n=1, cutoff=_MIN_SIMILARITY)
    return ".".join([*table, close[0]]) if close else None


def _nearest_variable(name: str) -> str:
    table, *rest = name.upper().removeprefix(ENV_PREFIX).lower().split("__")
    nearest = _nearest([table])
    return _did_you_mean(nearest and ENV_PREFIX + "__".join([nearest, *rest]).upper())


def _did_you_mean(name: str | None) -> str:
    return f" (did you mean {name}?)" if name else ""


def _table_of(annotation: object) -> tuple[type[BaseModel], bool] | None:
    """The model of a nested table, and whether it is one of several that the user names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if typing.get_origin(annotation) is dict:
        nested = _table_of(typing.get_args(annotation)[1])
        return (nested[0], True) if nested else None
    if typing.get_origin(annotation) in {types.UnionType, typing.Union}:
        tables = [_table_of(part) for part in typing.get_args(annotation)]
        return next((table for table in tables if table), None)
    return None

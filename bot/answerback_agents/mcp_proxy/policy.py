"""The policy: which tool calls pass, which people are asked about, and which are denied.

The first rule that matches decides. Where no rule does, people are asked.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from answerback_base.base_error import AnswerbackError
from answerback_base.strict_json import json_equal

Json = dict[str, Any]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./-]{1,128}")
"""The names that the protocol recommends for tools. A rule lets no other name pass: it may only look like one."""
_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_SERVER_KEYS: Final = {"rules", "trust_annotations"}
_RULE_KEYS: Final = {"tool", "arguments", "do"}


class PolicyError(AnswerbackError):
    """The policy cannot be used; the message says why."""


class Decision(StrEnum):
    PASS = "pass"
    ASK = "ask"
    DENY = "deny"


class Verdict(NamedTuple):
    """A decision, and what it follows from."""

    decision: Decision
    reason: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule about tools and, if it says so, about the values of some arguments."""

    number: int
    tool: str
    do: Decision
    arguments: Mapping[str, object] = field(default_factory=dict)

    def matches_tool(self, name: str) -> bool:
        """Return True if the rule is about a tool. To pass, a name has to match exactly; otherwise its case does not
        count."""
        if self.do is Decision.PASS:
            return bool(_PLAIN_NAME.fullmatch(name)) and _matches_pattern(self.tool, name)
        return _matches_pattern(self.tool.casefold(), name.casefold())

    def matches(self, name: str, arguments: Json) -> bool:
        return self.matches_tool(name) and all(
            self._matches_argument(key, allowed, arguments)
            for key, allowed in self.arguments.items()
        )

    def _matches_argument(self, key: str, allowed: object, arguments: Json) -> bool:
        # A server may ignore the case of names: such a twin must neither pass nor get around a rule.
        values = [value for each, value in arguments.items() if each.casefold() == key.casefold()]
        if self.do is Decision.PASS and (key not in arguments or len(values) > 1):
            return False
        patterns = allowed if isinstance(allowed, list) else [allowed]
        return any(_matches_value(each, value) for each in patterns for value in values)

    @property
    def condition(self) -> str:
        """The condition about arguments, for people; empty if there is none."""
        return " and ".join(
            f"{key} is {' or '.join(map(json.dumps, each if isinstance(each, list) else [each]))}"
            for key, each in self.arguments.items()
        )


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """The policy for one server, by the name that people read."""

    name: str
    rules: tuple[Rule, ...] = ()
    trust_annotations: bool = False

    def decide(self, tool: str, arguments: Json, definition: Json | None) -> Verdict:
        """Decide about a call.

        Args:
            definition: the tool's, as the server has listed it.
        """
        rule = next((rule for rule in self.rules if rule.matches(tool, arguments)), None)
        return self._verdict(rule, tool, definition)

    def explain(self, tool: str, definition: Json | None) -> Iterator[tuple[str, Verdict]]:
        """Yield the possible verdicts about a tool, each with its condition on the arguments; the last has none."""
        for rule in self.rules:
            if rule.matches_tool(tool):
                yield rule.condition, self._verdict(rule, tool, definition)
                if not rule.arguments:
                    return
        yield "", self._verdict(None, tool, definition)

    def _verdict(self, rule: Rule | None, tool: str, definition: Json | None) -> Verdict:
        if rule is not None:
            return Verdict(rule.do, f"rule {rule.number}")
        annotations = (definition or {}).get("annotations")
        says_it_only_reads = (
            isinstance(annotations, dict)
            and annotations.get("readOnlyHint") is True
            and annotations.get("destructiveHint") is not True
        )
        if self.trust_annotations and says_it_only_reads and _PLAIN_NAME.fullmatch(tool):
            return Verdict(Decision.PASS, "the server says that it only reads")
        return Verdict(Decision.ASK, "no rule")


def _matches_pattern(pattern: str, text: str) -> bool:
    """Return True if a text matches a pattern, in time linear in the text: it may be long, and an agent's."""
    first, *middle = pattern.split("*")
    if not middle:
        return pattern == text
    last = middle.pop()
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _matches_value(pattern: object, value: object) -> bool:
    if isinstance(pattern, str) and isinstance(value, str):
        return _matches_pattern(pattern, value)
    return json_equal(pattern, value)


def load_policies(path: Path) -> dict[str, ServerPolicy]:
    """Read a policy file: the servers by their names.

    Raises:
        PolicyError: it cannot be read, or says something that has no meaning.
    """
    try:
        data = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise PolicyError(f"Cannot read the policy {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"{path} is not valid TOML: {error}.") from error
    try:
        _require_known(data, {"servers"}, "")
        servers = _table(data.get("servers", {}), "servers")
        return {name: _server(name, table) for name, table in servers.items()}
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def choose_server(policies: Mapping[str, ServerPolicy], name: str | None) -> ServerPolicy:
    """Return the policy for a server, or for the only one.

    Raises:
        PolicyError: there is no such server, or several.
    """
    known = ", ".join(policies) or "none"
    if name is None and len(policies) != 1:
        raise PolicyError(f"Say with --server which of the policy's servers this is: {known}.")
    chosen = next(iter(policies)) if name is None else name
    if chosen not in policies:
        raise PolicyError(f"The policy has no server {chosen}. Its servers: {known}.")
    return policies[chosen]


def named_server(name: str) -> ServerPolicy:
    """The policy for a server about which nothing is said: people are asked about each call.

    Raises:
        PolicyError: the name is not fit for people.
    """
    if _SERVER_NAME.fullmatch(name) is None:
        raise PolicyError(
            f"{name!r} cannot be a server's name: use up to 40 letters, digits, dots, hyphens and underscores."
        )
    return ServerPolicy(name)


def weaknesses(policy: ServerPolicy) -> Iterator[str]:
    """Yield what a policy allows more than its author may know, or says without any effect."""
    if policy.trust_annotations:
        yield "it believes the server's annotations, which a hostile server writes as it likes"
    for i, rule in enumerate(policy.rules):
        over = [
            earlier
            for earlier in policy.rules[:i]
            if not earlier.arguments and earlier.tool in ("*", rule.tool)
        ]
        if over:
            yield f"rule {rule.number} never counts, because rule {over[0].number} decides before it"
        elif rule.do is Decision.PASS and rule.tool == "*" and not rule.arguments:
            yield f"rule {rule.number} lets every other tool pass, also those that the server adds later"


def _server(name: str, value: object) -> ServerPolicy:
    place = f"servers.{name}"
    table = _table(value, place)
    _require_known(table, _SERVER_KEYS, place)
    trust = table.get("trust_annotations", False)
    if not isinstance(trust, bool):
        raise PolicyError(f"{place}.trust_annotations must be true or false.")
    rules = table.get("rules", [])
    if not isinstance(rules, list):
        raise PolicyError(f"{place}.rules must be a list.")
    read = tuple(_rule(i, each, f"{place}.rules[{i}]") for i, each in enumerate(rules, 1))
    return ServerPolicy(named_server(name).name, read, trust)


def _rule(number: int, value: object, place: str) -> Rule:
    table = _table(value, place)
    _require_known(table, _RULE_KEYS, place)
    tool, do = table.get("tool"), table.get("do")
    if not isinstance(tool, str) or not tool:
        raise PolicyError(f"{place}.tool must be a tool's name, in which * matches anything.")
    if not isinstance(do, str) or do not in [*Decision]:
        raise PolicyError(f'{place}.do must be "pass", "ask" or "deny".')
    arguments = _table(table.get("arguments", {}), f"{place}.arguments")
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError):
        raise PolicyError(
            f"{place}.arguments has a value that JSON does not support, such as a date."
        ) from None
    return Rule(number, tool, Decision(do), arguments)


def _table(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise PolicyError(f"{place} must be a table.")
    return value


def _require_known(table: Json, known: set[str], place: str) -> None:
    unknown = sorted(table.keys() - known)
    if unknown:
        where = f"{place}." if place else ""
        raise PolicyError(f"{where}{unknown[0]} is unknown. Known are: {', '.join(sorted(known))}.")

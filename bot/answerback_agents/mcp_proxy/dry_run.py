"""A dry run: what a policy says about a list of tools or calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from answerback_agents.mcp_proxy.policy import PolicyError, ServerPolicy
from answerback_agents.pipe.json_rpc import Json, as_object
from answerback_base import strict_json
from answerback_base.visible_text import one_line

_WRONG: Final = "The list must be JSON: names, tools or calls, or the result of tools/list."


def read_tools(text: str) -> list[Json]:
    """Read a list of tools or calls, as `tools/list` gives it or as an array.

    Raises:
        PolicyError: it is not such a list.
    """
    try:
        data = strict_json.parse(text)
    except strict_json.NotJsonError as error:
        raise PolicyError(f"{_WRONG} It is not: {error}.") from error
    result = as_object(data).get("result", data)
    found = as_object(result).get("tools", result)
    tools = [
        {"name": each} if isinstance(each, str) else each
        for each in (found if isinstance(found, list) else [None])
    ]
    if not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in tools):
        raise PolicyError(_WRONG)
    return [as_object(each) for each in tools]


def decide_all(policy: ServerPolicy, tools: Sequence[Json]) -> list[Json]:
    """Say what would happen to calls of each tool: with its arguments where they are given, else by conditions."""
    return [_decide(policy, tool) for tool in tools]


def _decide(policy: ServerPolicy, tool: Json) -> Json:
    name, arguments = tool["name"], tool.get("arguments")
    if isinstance(arguments, dict):
        return {"tool": name, **policy.decide(name, arguments, tool)._asdict(), "unless": []}
    *conditional, (_, last) = policy.explain(name, tool)
    unless = [{**verdict._asdict(), "if": condition} for condition, verdict in conditional]
    return {"tool": name, **last._asdict(), "unless": unless}


def as_lines(decided: Sequence[Json]) -> Iterator[str]:
    """Yield the decisions, a line a tool."""
    for each in decided:
        parts = [f"{one['decision']} if {one['if']} ({one['reason']})" for one in each["unless"]]
        parts.append(f"{'else ' if parts else ''}{each['decision']} ({each['reason']})")
        yield one_line(f"{each['tool']}: {'; '.join(parts)}")

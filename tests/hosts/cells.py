"""The cells of the matrix: what each host was seen to do, or why it cannot. docs/permission-prompts.md shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.hosts.kinds import Kind

_AGENTS: Final = Path(__file__).parents[1] / "agents" / "environment" / "package.json"


class Host(NamedTuple):
    """A host, and the way in that people use."""

    name: str
    package: str
    way: str
    cannot: Mapping[Kind, str]
    """Why there is no such prompt; every other kind is run."""
    takes_edited: bool = False
    """True if it takes a call or a plan as people have changed it, which is run then."""

    @property
    def version(self) -> str:
        """The release that is driven."""
        return str(json.loads(_AGENTS.read_text())["dependencies"][self.package])


_EDITED: Final = "changed call or plan"
"""The last column: see test_edits.py and test_edited_plans.py."""
_NO_ELICITATION: Final = "no elicitation: `answerback mcp-proxy` asks instead"
_NO_FORMS: Final = {Kind.FORM: _NO_ELICITATION, Kind.URL: _NO_ELICITATION}
_NO_EDITS: Final = "its protocol takes a decision and no other call (read)"
_HOST_PROGRAM: Final = "only the program that hosts its session is asked"

HOSTS: Final[Mapping[str, Host]] = {
    "claude": Host("Claude Code", "@anthropic-ai/claude-code", "hooks", {}, takes_edited=True),
    "codex": Host("Codex", "@openai/codex", "bridge", {Kind.PLAN: "asks nothing about its plans"}),
    "opencode": Host(
        "opencode",
        "opencode-ai",
        "bridge",
        {Kind.PLAN: "leaves its plan mode by a question", **_NO_FORMS},
    ),
    "copilot": Host(
        "Copilot CLI",
        "@github/copilot",
        "hook",
        {
            Kind.READ: "refuses it itself",
            Kind.FETCH: "has no tool for it offline",
            Kind.PLAN: _HOST_PROGRAM,
            Kind.QUESTION: _HOST_PROGRAM,
            Kind.FORM: _HOST_PROGRAM,
            Kind.URL: _HOST_PROGRAM,
        },
    ),
    "opencode-acp": Host(
        "opencode",
        "opencode-ai",
        "ACP",
        {
            Kind.PLAN: "offers no plan mode over ACP",
            Kind.QUESTION: "offers no tool for it over ACP",
            **_NO_FORMS,
        },
    ),
    "gemini-acp": Host(
        "Gemini CLI",
        "@google/gemini-cli",
        "ACP",
        {
            Kind.READ: "refuses it itself",
            Kind.FETCH: "fetches through Google's servers",
            Kind.MCP_TOOL: "offers its model no tool of an MCP server over ACP",
            Kind.QUESTION: "withholds its tool over ACP",
            **_NO_FORMS,
        },
    ),
    "qwen-acp": Host("Qwen Code", "@qwen-code/qwen-code", "ACP", _NO_FORMS),
    "kimi-acp": Host(
        "Kimi Code",
        "@moonshot-ai/kimi-code",
        "ACP",
        {
            Kind.READ: "reads without asking",
            Kind.FETCH: "fetches without asking",
            **_NO_FORMS,
        },
    ),
    "claude-agent-acp": Host(
        "claude-agent-acp",
        "@agentclientprotocol/claude-agent-acp",
        "ACP",
        {Kind.FETCH: "looks up each address at its maker's first"},
    ),
}


def table() -> str:
    """Return the matrix as Markdown: a row a host, and below it why a cell is empty."""
    kinds = [kind for kind in Kind if kind is not Kind.NOBODY]
    columns = ["host", "way in", *kinds, _EDITED]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    reasons: list[str] = []
    for host in HOSTS.values():
        cells = []
        for why in (*map(host.cannot.get, kinds), None if host.takes_edited else _NO_EDITS):
            if why is not None and why not in reasons:
                reasons.append(why)
            cells.append("✓" if why is None else str(reasons.index(why) + 1))
        lines.append(f"| {host.name} {host.version} | {host.way} | {' | '.join(cells)} |")
    notes = [f"{number}. {why}" for number, why in enumerate(reasons, 1)]
    return "\n".join([*lines, "", *notes])

"""The commands of what runs beside an agent. They are found without looking for installed distributions."""

from __future__ import annotations

from typing import Final

from answerback_agents.cli.command import Command

OWN_COMMANDS: Final = (
    Command(
        "connect",
        "Start",
        30,
        "Connect an agent, so that its questions and permission prompts go to people.",
        "answerback_agents.cli.connect",
    ),
    Command(
        "ask",
        "Ask and answer",
        10,
        "Ask a form's questions, wait for the answers, and print the tool result.",
        "answerback_agents.cli.ask",
    ),
    Command(
        "list",
        "Ask and answer",
        30,
        "List the asks that are waiting for an answer.",
        "answerback_agents.cli.list",
    ),
    Command(
        "show",
        "Ask and answer",
        40,
        "Show an ask and its record: what was asked, who answered what, and when.",
        "answerback_agents.cli.show",
    ),
    Command(
        "wait",
        "Ask and answer",
        50,
        "Wait until an ask has ended, and print the tool result.",
        "answerback_agents.cli.wait",
    ),
    Command(
        "explain",
        "Ask and answer",
        60,
        "Answer a question that a person asked back; the explanation is shown below the agent's question.",
        "answerback_agents.cli.explain",
    ),
    Command(
        "withdraw",
        "Ask and answer",
        70,
        "Withdraw an ask, so that nobody can answer it any more.",
        "answerback_agents.cli.withdraw",
    ),
    Command(
        "mcp_proxy",
        "Run by agents, editors and MCP clients",
        20,
        "Run an MCP server behind a gateway: people allow or deny the calls of its tools.",
        "answerback_agents.cli.mcp_proxy",
    ),
    Command(
        "acp",
        "Run by agents, editors and MCP clients",
        30,
        "Run an ACP agent for an editor; people can answer it in the editor or in chat.",
        "answerback_agents.cli.acp",
    ),
    Command(
        "bridge",
        "Run by agents, editors and MCP clients",
        40,
        "Forward to people what an agent's server asks its client, and return their answers.",
        "answerback_agents.cli.bridge",
    ),
    Command(
        "hook",
        "Run by agents, editors and MCP clients",
        50,
        "Run by an agent's command hooks: read the event from standard input, ask, and print the answer.",
        "answerback_agents.cli.hook",
    ),
)

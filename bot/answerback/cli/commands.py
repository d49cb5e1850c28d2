"""The service's commands, which `answerback_agents.cli.main` finds by the door `answerback.commands`."""

from __future__ import annotations

from typing import Final

from answerback_agents.cli.command import Command
from answerback_base import install_extras

DEMO: Final = Command(
    "demo",
    "Start",
    10,
    "Try the migration form in your browser, and see the tool result that an agent would get.",
    "answerback.cli.demo",
)
SERVE: Final = Command(
    "serve",
    "Start",
    20,
    "Run the service.",
    "answerback.cli.serve",
)
DOCTOR: Final = Command(
    "doctor",
    "Start",
    40,
    "Check tokens, scopes, channels, clock and database, and explain how to fix any problem.",
    "answerback.cli.doctor",
)
ANSWER: Final = Command(
    "answer",
    "Ask and answer",
    20,
    "Answer an ask in this terminal.",
    "answerback.cli.answer",
)
CHECK: Final = Command(
    "check",
    "Try a form",
    10,
    "Check a form without a server, and list every error with its location.",
    "answerback.cli.check",
)
PREVIEW: Final = Command(
    "preview",
    "Try a form",
    20,
    "Show how each surface will render a form, without asking anyone or needing a service.",
    "answerback.cli.preview",
)
TOKEN: Final = Command(
    "token",
    "Who may ask and answer",
    10,
    "Manage tokens for agents and custom front ends.",
    "answerback.cli.token",
)
KEY: Final = Command(
    "key",
    "Who may ask and answer",
    20,
    "Print the key that lets a person answer on the page and in the terminal.",
    "answerback.cli.key",
)
GRANT: Final = Command(
    "grant",
    "Who may ask and answer",
    40,
    "List and revoke what people have allowed again for a while.",
    "answerback.cli.grant",
)
MANIFEST: Final = Command(
    "manifest",
    "Operate",
    10,
    "Print an app manifest, ready to paste.",
    "answerback.cli.manifest",
)
COPY: Final = Command(
    "copy",
    "Operate",
    20,
    "Copy a database to another one: SQLite to PostgreSQL, or back.",
    "answerback.cli.copy",
)
EXPORT: Final = Command(
    "export",
    "Operate",
    30,
    "Print everything as JSON lines: asks, their records, and webhook deliveries.",
    "answerback.cli.export",
)
ERASE: Final = Command(
    "erase",
    "Operate",
    40,
    "Permanently erase what people and agents wrote in asks that have ended.",
    "answerback.cli.erase",
)
MCP: Final = Command(
    "mcp",
    "Run by agents, editors and MCP clients",
    10,
    "Serve the tools to an MCP client over standard input and output.",
    "answerback.cli.mcp",
    install_extras.MCP,
)

"""``answerback doctor``: checks the setup, and explains how to fix any problem."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from answerback_agents.cli.options import Config, Json
from answerback_agents.cli.output import EXIT_FAILED, print_json, say, warn

if TYPE_CHECKING:
    from answerback.ports.plugin import Finding
    from answerback.runtime.config import Settings


def command(
    config: Config = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Fix the platform settings that an app can change through the API."
        ),
    ] = False,
    mcp_policy: Annotated[
        Path | None,
        typer.Option(
            envvar="ANSWERBACK_MCP_POLICY",
            help="The policy of `answerback mcp-proxy`, if you use it.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check tokens, scopes, channels, clock and database, and explain how to fix any problem.

    Posts nothing, and changes nothing without `--fix`. Exits with 0 if all is well, and with 1 if not.

    Example: `answerback doctor --config answerback.toml`
    """
    import asyncio

    from answerback.runtime.config_file import load_settings

    settings = load_settings(config)
    results = asyncio.run(_collect(settings, mcp_policy, fix=fix, verbose=not json))
    if json:
        print_json([asdict(finding) for finding in results])
    if not all(finding.is_ok for finding in results):
        raise typer.Exit(EXIT_FAILED)


async def _collect(
    settings: Settings, mcp_policy: Path | None, *, fix: bool, verbose: bool
) -> list[Finding]:
    import aiohttp

    from answerback.cli.checkup import findings

    results = []
    async with aiohttp.ClientSession() as http:
        async for finding in findings(settings, http, mcp_policy, fix=fix):
            results.append(finding)
            if verbose:
                _print_finding(finding)
    return results


def _print_finding(finding: Finding) -> None:
    if finding.wrong is None:
        say(f"✓ {finding.what}")
        return
    (say if finding.is_ok else warn)(
        f"{'!' if finding.is_ok else '✗'} {finding.what}: {finding.wrong}"
    )
    if finding.fix:
        say(f"  {finding.fix}")

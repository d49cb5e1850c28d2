"""``answerback bridge imagined``: one question on standard input, its answer on standard output."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Final

from answerback_agents.cli.bridge_command import BridgeCommand, TokenEnv, Url
from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, To


def _bridge(url: Url = SERVICE_URL, token_env: TokenEnv = TOKEN_ENV, to: To = None) -> None:
    """Forward the question of Imagined to people."""
    from answerback_agents.bridges.ask_people import Request, RequestAsker, structured_result
    from answerback_agents.cli.bridged_server import connected, print_line, run

    async def forward() -> None:
        async with connected(url, token_env) as (client, _):
            people = RequestAsker(client, {"bridge": "imagined"}, to)
            asked = json.loads(sys.stdin.readline())
            request = Request("1", "imagined/ask", "imagined", asked, conversation=None)
            ask = await people.ask_and_wait(request, asyncio.Event())
            assert ask is not None
            print_line(json.dumps(structured_result(ask)).encode())

    run(forward())


BRIDGE: Final = BridgeCommand(_bridge)

"""Follows a running opencode server until stopped."""

from __future__ import annotations

import os

import aiohttp

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.cli.bridged_server import connected, run
from answerback_agents.cli.output import say
from answerback_hosts.opencode.server import OpencodeServer
from answerback_hosts.opencode.server_bridge import OpencodeBridge


def follow(
    server: str,
    url: str,
    token_env: str,
    to: str | None,
    urgency: str | None,
    directory: str | None,
    password_env: str,
) -> None:
    async def following() -> None:
        async with connected(url, token_env) as (client, late), aiohttp.ClientSession() as http:
            password = os.environ.get(password_env) or None
            followed = OpencodeServer(http, server, directory, password)
            source = {"bridge": "opencode", "server": followed.url}
            if directory is not None:
                source["directory"] = directory
            people = RequestAsker(client, source, to, urgency)
            await OpencodeBridge(followed, people, late, say).run()

    run(following())

"""Follows a running OpenClaw gateway until stopped."""

from __future__ import annotations

import os

import aiohttp

from answerback_agents.bridges.ask_people import RequestAsker
from answerback_agents.cli.bridged_server import connected, run
from answerback_agents.cli.output import say
from answerback_agents.pipe.state_folder import state_folder
from answerback_hosts.openclaw.device import Device
from answerback_hosts.openclaw.gateway import OpenclawGateway
from answerback_hosts.openclaw.gateway_bridge import OpenclawBridge


def follow(
    gateway: str,
    url: str,
    token_env: str,
    to: str | None,
    urgency: str | None,
    gateway_token_env: str,
) -> None:
    device = Device.load(state_folder() / "openclaw-device.key")

    async def following() -> None:
        async with connected(url, token_env) as (client, late), aiohttp.ClientSession() as http:
            token = os.environ.get(gateway_token_env, "")
            followed = OpenclawGateway(http, gateway, token, device)
            people = RequestAsker(
                client, {"bridge": "openclaw", "server": followed.url}, to, urgency
            )
            await OpenclawBridge(followed, people, late, say).run()

    run(following())

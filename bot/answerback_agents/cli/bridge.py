"""``answerback bridge``: connects an agent's server with people until it is stopped."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, PassToken, To

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Forward to people what an agent's server asks its client, and return their answers.",
)

_Url = Annotated[
    str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the Answerback service.")
]
_TokenEnv = Annotated[
    str, typer.Option(help="The environment variable that holds the agent's token for Answerback.")
]


@app.command("opencode")
def opencode(
    server: Annotated[str, typer.Argument(metavar="URL", help="The address of `opencode serve`.")],
    url: _Url = SERVICE_URL,
    token_env: _TokenEnv = TOKEN_ENV,
    to: To = None,
    directory: Annotated[
        str | None, typer.Option(help="The project's folder; by default the server's own.")
    ] = None,
    password_env: Annotated[
        str,
        typer.Option(
            help="The environment variable that holds the server's password, if it has one."
        ),
    ] = "OPENCODE_SERVER_PASSWORD",
) -> None:
    """Forward the questions and permission prompts of a running opencode server to people.

    Example: `answerback bridge opencode http://127.0.0.1:4096 --to deploys`

    If opencode's own window answers first, the ask is withdrawn. The bridge runs until you stop it; if you start it
    again, it does not repeat any ask.
    """
    from answerback_agents.cli import bridged_server

    bridged_server.follow_opencode(server, url, token_env, to, directory, password_env)


@app.command("openclaw")
def openclaw(
    gateway: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The address of the gateway: ws:// on this machine, wss:// elsewhere.",
        ),
    ] = "ws://127.0.0.1:18789",
    url: _Url = SERVICE_URL,
    token_env: _TokenEnv = TOKEN_ENV,
    to: To = None,
    gateway_token_env: Annotated[
        str,
        typer.Option(
            help="The environment variable that holds the gateway's token or password, if it has one."
        ),
    ] = "OPENCLAW_GATEWAY_TOKEN",
) -> None:
    """Forward the questions and approvals of a running OpenClaw gateway to people.

    Example: `answerback bridge openclaw --to deploys`

    If OpenClaw's own windows answer first, the ask is withdrawn. The bridge runs until you stop it; if you start
    it again, it does not repeat any ask.
    """
    from answerback_agents.cli import bridged_server
    from answerback_agents.cli.output import fail
    from answerback_base.install_extras import AGENTS, AGENTS_OPENCLAW, missing_extra_message

    missing = missing_extra_message(*AGENTS_OPENCLAW, "`answerback bridge openclaw`", AGENTS)
    if missing is not None:
        fail(missing)
    bridged_server.follow_openclaw(gateway, url, token_env, to, gateway_token_env)


@app.command("codex", context_settings={"ignore_unknown_options": True})
def codex(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="The command that starts the app server; by default `codex app-server`."
        ),
    ] = None,
    url: _Url = SERVICE_URL,
    token_env: _TokenEnv = TOKEN_ENV,
    to: To = None,
    pass_token: PassToken = False,
) -> None:
    """Run `codex app-server` for a client that starts this command instead, and forward what Codex asks to people.

    Example: `answerback bridge codex --to deploys -- codex app-server`

    Questions, approvals and elicitations go to people; everything else passes through.
    """
    from answerback_agents.cli import bridged_server

    bridged_server.relay_codex(
        command or ["codex", "app-server"], url, token_env, to, pass_token=pass_token
    )

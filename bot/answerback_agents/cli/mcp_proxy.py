"""``answerback mcp-proxy``: runs an MCP server for a client, and asks people before its tools are called."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, NoReturn
from urllib.parse import urlsplit

import typer

from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, Json, To, TokenEnv, Urgency
from answerback_agents.cli.output import EXIT_USAGE

if TYPE_CHECKING:
    from answerback_agents.mcp_proxy.gateway import Gateway
    from answerback_agents.mcp_proxy.policy import ServerPolicy


def command(
    command_line: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help="The server's command, with its arguments."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="The server's address, if it is reached by HTTP instead of a command."),
    ] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VARIABLE",
            help="A header for that address, and the environment variable with its value.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            envvar="ANSWERBACK_MCP_POLICY",
            help="The TOML file that says which calls pass, are asked about or denied; by default, all are asked.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="The server's name in the policy, which people read; by default the only one there."
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the definitions of allowed tools are kept; by default ~/.local/state/answerback.",
        ),
    ] = None,
    dry_run: Annotated[
        Path | None,
        typer.Option(
            metavar="TOOLS",
            help="A JSON file with tools or calls, or - for standard input: say what would be asked, and do nothing.",
        ),
    ] = None,
    service: Annotated[
        str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the Answerback service.")
    ] = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    json: Json = False,
) -> None:
    """Run an MCP server behind a gateway: people allow or deny the calls of its tools.

    Example, for an MCP client: `answerback mcp-proxy --policy mcp.toml --server github -- github-mcp-server stdio`

    Everything else passes unchanged. What the server asks its user goes to people, too.
    """
    from answerback_agents.cli.piped_program import own_streams
    from answerback_agents.mcp_proxy.definitions import Definitions, DefinitionsError
    from answerback_agents.mcp_proxy.gateway import Gateway
    from answerback_agents.mcp_proxy.policy import PolicyError
    from answerback_agents.pipe.ask_people import AskClient
    from answerback_agents.pipe.lines import LineWriter
    from answerback_agents.pipe.origins import origin_of
    from answerback_agents.pipe.state_folder import state_folder
    from answerback_client.blocking_connection import BlockingConnection

    try:
        chosen = _choose_policy(policy, server, command_line or [], url)
        if dry_run is not None:
            _print_dry_run(chosen, dry_run, as_json=json)
            return
        if bool(command_line) == (url is not None):
            _fail("Give either the server's command after --, or its address with --url.")
        headers = {} if url is None else _check_address(url, header_env or [])
        definitions = Definitions((state or state_folder()) / f"mcp-proxy-{chosen.name}.json")
    except (PolicyError, DefinitionsError) as error:
        _fail(str(error))
    client_in, client_out = own_streams()
    calls = BlockingConnection(service.rstrip("/"), os.environ.get(token_env) or None, token_env)
    gateway_of = partial(
        Gateway,
        policy=chosen,
        definitions=definitions,
        people=AskClient(calls, to, urgency),
        client=LineWriter(client_out),
        warn=_warn,
        origin=origin_of(str(Path.cwd()), None),
    )
    if url is not None:
        _run_over_http(gateway_of, client_in, url, headers)
    else:
        variables = [each.partition("=")[2] for each in header_env or []]
        _run_program(gateway_of, client_in, command_line or [], [token_env, *variables])


def _choose_policy(
    path: Path | None, server: str | None, command_line: list[str], url: str | None
) -> ServerPolicy:
    """The policy for the server; without a file, the server has the name of its program or host."""
    from answerback_agents.mcp_proxy.policy import choose_server, load_policies, named_server

    if path is not None:
        return choose_server(load_policies(path), server)
    name = urlsplit(url).hostname if url else Path(command_line[0]).name if command_line else None
    return named_server(server or name or "server")


def _print_dry_run(policy: ServerPolicy, path: Path, *, as_json: bool) -> None:
    from answerback_agents.cli.output import print_result
    from answerback_agents.mcp_proxy.dry_run import as_lines, decide_all, read_tools
    from answerback_base import sanitize

    try:
        text = (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode()
    except OSError as error:
        _fail(f"Cannot read {path}: {error.strerror}.")
    except UnicodeDecodeError:
        _fail(f"{path} is not text in UTF-8.")
    decided = decide_all(policy, read_tools(text))
    print_result(sanitize.as_json(decided) if as_json else "\n".join(as_lines(decided)))


def _check_address(url: str, pairs: list[str]) -> dict[str, str]:
    """Check that the server can be reached by HTTP, and return the headers to send."""
    from answerback_base.install_extras import AGENTS, AGENTS_MCP, missing_extra_message

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        _fail(f"{url} is not the address of an MCP server. Use http://host:port/path.")
    missing = missing_extra_message(*AGENTS_MCP, "`answerback mcp-proxy --url`", AGENTS)
    if missing is not None:
        _fail(missing)
    headers = {}
    for pair in pairs:
        name, _, variable = pair.partition("=")
        value = os.environ.get(variable)
        if not name or not value:
            _fail(f"--header-env {pair}: use NAME=VARIABLE, with a variable that is set.")
        headers[name] = value
    return headers


def _run_program(
    gateway_of: Callable[..., Gateway],
    client_in: IO[bytes],
    command_line: list[str],
    secrets: list[str],
) -> NoReturn:
    from answerback_agents.cli.piped_program import environment_without, start_program, start_relay
    from answerback_agents.mcp_proxy.messages import read_bounded
    from answerback_agents.pipe.lines import LineWriter

    # With the token, the server could ask for itself, and read what people answer.
    program = start_program(command_line, environment_without(secrets), _warn)
    to_server = LineWriter(program.stdin)
    gateway = gateway_of(send=lambda line, _message: to_server.try_write_line(line))
    start_relay(
        lambda source: gateway.relay_from_client(read_bounded(source)), client_in, to_server, _warn
    )
    from_server = start_relay(
        lambda source: gateway.relay_from_server(read_bounded(source)),
        program.stdout,
        gateway.client,
        _warn,
    )
    status = program.exit_status()
    from_server.join()
    gateway.end()
    sys.exit(status)


def _run_over_http(
    gateway_of: Callable[..., Gateway], client_in: IO[bytes], url: str, headers: dict[str, str]
) -> None:
    from answerback_agents.mcp_proxy.http_server import HttpServer
    from answerback_agents.mcp_proxy.messages import read_bounded

    server: HttpServer
    gateway = gateway_of(send=lambda line, message: server.send(line, message))
    server = HttpServer(
        url,
        headers,
        lambda line: gateway.relay_from_server([line]),
        gateway.definitions.listed,
        _warn,
    )
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _stop)
    try:
        gateway.relay_from_client(read_bounded(client_in))
    finally:
        gateway.end()
        server.end()


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _fail(text: str) -> NoReturn:
    _warn(text)
    sys.exit(EXIT_USAGE)


def _warn(text: str) -> None:
    from answerback_base.visible_text import one_line

    # It may repeat a text that a server or a client has sent.
    print(f"answerback mcp-proxy: {one_line(text)}", file=sys.stderr)

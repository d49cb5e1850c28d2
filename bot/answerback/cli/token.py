"""``answerback token``: tokens for agents and for custom front ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from answerback_agents.cli.options import Config, Json
from answerback_agents.cli.output import (
    EXIT_USAGE,
    columns,
    fail,
    name_of,
    print_json,
    print_result,
    say,
)

if TYPE_CHECKING:
    from answerback_agents.cli.api_client import JsonObject

app: Final = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Manage tokens for agents and custom front ends.",
)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The agent's name: letters, digits, - and _.")],
    role: Annotated[
        Literal["agent", "surface"],
        typer.Option(
            help="What the token is for: an agent that asks, or a front end that acts for people."
        ),
    ] = "agent",
    json: Json = False,
) -> None:
    """Create a token, print it once, and print what to add to the configuration.

    Example: `answerback token create deploy-bot`
    """
    from answerback.ports.person_key import hash_of, new_token

    if not _NAME.fullmatch(name):
        fail(
            f"{name[:80]!r} is not a valid agent name. Use 1 to 64 letters, digits, - and _.",
            EXIT_USAGE,
        )
    token = new_token()
    lines = f'[agents.{name}]\ntoken_hash = "{hash_of(token)}"\nrole = "{role}"'
    if json:
        print_json({"name": name, "role": role, "token": token, "configuration": lines})
        return
    say("The token, shown only once. Give it to the agent as ANSWERBACK_TOKEN:")
    print_result(token)
    say("")
    say(
        "Add this to answerback.toml. A running service picks it up, but needs a restart for the first agent:"
    )
    print_result(f"\n{lines}")


@app.command("list")
def list_(config: Config = None, json: Json = False) -> None:
    """List the agents, with the name, role and routes of each.

    Example: `answerback token list`

    Where people connect their own agents, it lists these, too; the service has to run. Tokens cannot be shown again:
    only hashes of them are kept.
    """
    from answerback.runtime.config_file import load_settings

    settings = load_settings(config)
    agents = settings.agents
    connected = _connected(config) if settings.adds_agents else []
    if json:
        rows: list[JsonObject] = [
            {"name": name, "role": agent.role, "label": agent.label, "routes": [*agent.routes]}
            for name, agent in agents.items()
        ]
        print_json(rows + connected)
    elif agents or connected:
        lines = [f"{n}  {one.role}  {_describe_routes(one.routes)}" for n, one in agents.items()]
        print_result("\n".join([*lines, *map(_line, connected)]))
    elif settings.uses_tokens:
        say("There are no agents yet.")
    else:
        say("There are no agents. The service needs no token, and only serves this machine.")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    config: Config = None,
    json: Json = False,
) -> None:
    """Remove an agent from the configuration, or one that a person has connected. Its token is refused at once.

    Example: `answerback token revoke deploy-bot`

    Its existing asks stay, and people can still answer them.
    """
    from answerback.core.errors import ConfigError
    from answerback.runtime.config_file import DEFAULT_FILE, load_settings
    from answerback_agents.connect.config_files import ConfigFile
    from answerback_agents.connect.settings_entries import ConnectError

    settings = load_settings(config)
    agents = settings.agents
    if name not in agents and settings.adds_agents:
        _remove_connected(name, config)
        if json:
            print_json({"name": name, "revoked": True, "left": [*agents]})
        say(f"Removed {name}. Its token is refused from now on.")
        return
    if name not in agents:
        known = f"The agents are: {', '.join(agents)}." if agents else "There are no agents at all."
        fail(f"There is no agent {name[:80]}. {known}")
    path = config or Path(DEFAULT_FILE)
    file = ConfigFile(path.absolute(), path.absolute().parent)
    try:
        before = file.read() or ""
        after = _remove_agent(before, name)
        if after is None:
            fail(
                f"{path} has no table [agents.{name}]. Remove {name} by hand, from that file or from the "
                "environment variables."
            )
        file.replace(before, after)
    except ConnectError as error:
        raise ConfigError(str(error)) from error
    left = load_settings(config).agents
    if name in left:
        fail(
            f"{name} is also set in the environment variables. Its token keeps working until you remove it there."
        )
    if json:
        print_json({"name": name, "revoked": True, "left": [*left]})
    say(f"Removed {name} from {path}. A running service refuses its token within a second.")
    if not left:
        say("It was the last agent. Once the service restarts, nobody needs a token any more.")


def _connected(config: Path | None) -> list[JsonObject]:
    """The agents that people have connected, as the running service lists them."""
    from answerback_agents.cli.api_client import ROWS, call_api, resolve_access

    found = call_api(resolve_access(None, None, config), "GET", "/v1/agents")
    return ROWS.validate_python(found["agents"])


def _remove_connected(name: str, config: Path | None) -> None:
    from urllib.parse import quote

    from answerback_agents.cli.api_client import call_api, resolve_access

    hint = " `answerback token list` lists the agents."
    path = f"/v1/agents/{quote(name, safe='')}"
    call_api(resolve_access(None, None, config), "DELETE", path, hint)


def _line(agent: JsonObject) -> str:
    return columns(
        agent["name"],
        f"{agent['program']} on {agent['machine']}",
        f"from {agent['address']}",
        f"of {name_of(agent['owner'])}",
        f"until {agent['expires_at']}",
    )


def _remove_agent(before: str, name: str) -> str | None:
    """The file without an agent's tables; None if the agent is not written as tables."""
    from answerback_agents.connect.config_files import split_bom
    from answerback_agents.connect.settings_entries import ConnectError, Setting
    from answerback_agents.connect.toml_edit import TomlFormat

    mark, text = split_bom(before)
    try:
        left = TomlFormat().remove_entry(text, Setting(("agents", name), {}), None)
    except ConnectError:
        return None
    return None if left == text else mark + left


def _describe_routes(routes: tuple[str, ...]) -> str:
    return ", ".join(routes) or "every route"

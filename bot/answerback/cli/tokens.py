"""The work of ``answerback token``: creates tokens, and lists and removes the agents in the configuration."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import JsonValue

from answerback.agents.connect.config_files import ConfigFile, split_bom
from answerback.agents.connect.settings_entries import ConnectError, Setting
from answerback.agents.connect.toml_edit import TomlFormat
from answerback.cli.output import fail, print_result, say
from answerback.core.errors import ConfigError
from answerback.ports.person_key import hash_of, new_token
from answerback.presentation.sanitize import as_json
from answerback.runtime.config_file import DEFAULT_FILE, load_settings


def create(name: str, role: str, *, json_output: bool) -> None:
    """Create a token, and print what to add to the configuration."""
    token = new_token()
    lines = f'[agents.{name}]\ntoken_hash = "{hash_of(token)}"\nrole = "{role}"'
    if json_output:
        print_result(as_json({"name": name, "role": role, "token": token, "configuration": lines}))
        return
    say("The token, shown only once. Give it to the agent as ANSWERBACK_TOKEN:")
    print_result(token)
    say("")
    say(
        "Add this to answerback.toml. A running service picks it up, but needs a restart for the first agent:"
    )
    print_result(f"\n{lines}")


def list_agents(config: Path | None, *, json_output: bool) -> None:
    """Print the agents in the configuration, without their tokens."""
    agents = load_settings(config).agents
    if json_output:
        rows: list[JsonValue] = [
            {"name": name, "role": agent.role, "label": agent.label, "routes": [*agent.routes]}
            for name, agent in agents.items()
        ]
        print_result(as_json(rows))
    elif agents:
        print_result(
            "\n".join(
                f"{n}  {one.role}  {_describe_routes(one.routes)}" for n, one in agents.items()
            )
        )
    else:
        say("There are no agents. The service needs no token, and only serves this machine.")


def revoke(name: str, config: Path | None, *, json_output: bool) -> None:
    """Remove an agent from the configuration file."""
    agents = load_settings(config).agents
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
    if json_output:
        print_result(as_json({"name": name, "revoked": True, "left": [*left]}))
    say(f"Removed {name} from {path}. A running service refuses its token within a second.")
    if not left:
        say("It was the last agent. Once the service restarts, nobody needs a token any more.")


def _remove_agent(before: str, name: str) -> str | None:
    """The file without an agent's tables; None if the agent is not written as tables."""
    mark, text = split_bom(before)
    left = TomlFormat().remove_entry(text, Setting(("agents", name), {}), None)
    remains = tomllib.loads(left).get("agents", {})
    return None if left == text or name in remains else mark + left


def _describe_routes(routes: tuple[str, ...]) -> str:
    return ", ".join(routes) or "every route"

"""``answerback token`` at work: agents in the configuration are listed, and taken out of its file."""

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
from answerback.runtime.config_file import DEFAULT_FILE, load_settings
from answerback_chat.sanitize import as_json


def create(name: str, role: str, *, json_output: bool) -> None:
    """Makes a token, and says what to add to the configuration."""
    token = new_token()
    lines = f'[agents.{name}]\ntoken_hash = "{hash_of(token)}"\nrole = "{role}"'
    if json_output:
        print_result(as_json({"name": name, "role": role, "token": token, "configuration": lines}))
        return
    say("The token, shown this once. Give it to the agent (ANSWERBACK_TOKEN):")
    print_result(token)
    say("")
    say(
        "Add this to answerback.toml. A running service takes it up; only for the first agent, restart it:"
    )
    print_result(f"\n{lines}")


def list_agents(config: Path | None, *, json_output: bool) -> None:
    """Prints the agents that the configuration has, and nothing of their tokens."""
    agents = load_settings(config).agents
    if json_output:
        found: list[JsonValue] = [
            {"name": name, "role": one.role, "label": one.label, "routes": [*one.routes]}
            for name, one in agents.items()
        ]
        print_result(as_json(found))
    elif agents:
        print_result("\n".join(f"{n}  {one.role}  {_may(one.routes)}" for n, one in agents.items()))
    else:
        say("There are no agents: the service needs no token, and serves this machine only.")


def revoke(name: str, config: Path | None, *, json_output: bool) -> None:
    """Takes an agent out of the configuration file."""
    agents = load_settings(config).agents
    if name not in agents:
        known = f"There are: {', '.join(agents)}." if agents else "There are none."
        fail(f"There is no agent {name[:80]}. {known}")
    path = config or Path(DEFAULT_FILE)
    file = ConfigFile(path.absolute(), path.absolute().parent)
    try:
        before = file.read() or ""
        after = _without(before, name)
        if after is None:
            fail(
                f"{path} does not have {name} as a table [agents.{name}]: take it out by hand, there or from the "
                "environment variables."
            )
        file.replace(before, after)
    except ConnectError as error:
        raise ConfigError(str(error)) from error
    left = load_settings(config).agents
    if name in left:
        fail(f"{name} is in the environment variables too, and its token works until it is not.")
    if json_output:
        print_result(as_json({"name": name, "revoked": True, "left": [*left]}))
    say(f"{name} is taken out of {path}. A running service refuses its token within a second.")
    if not left:
        say("It was the last agent: nobody needs a token once the service is started again.")


def _without(before: str, name: str) -> str | None:
    """The file without an agent's tables; None where it is not written as such."""
    mark, text = split_bom(before)
    left = TomlFormat().remove_entry(text, Setting(("agents", name), {}), None)
    remains = tomllib.loads(left).get("agents", {})
    return None if left == text or name in remains else mark + left


def _may(routes: tuple[str, ...]) -> str:
    return ", ".join(routes) or "every route"

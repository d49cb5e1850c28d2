"""Connecting and disconnecting an agent restores any file byte for byte."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback_agents.cli import connect
from answerback_agents.connect.change_plan import Target
from answerback_agents.connect.connectable_agent import (
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.jsonc_edit import JsoncFormat
from answerback_agents.connect.known_agents import AGENTS
from answerback_agents.connect.settings_entries import Json, ListItem
from answerback_agents.connect.toml_edit import TomlFormat

BOTH = [(agent, scope) for agent, known in AGENTS.items() for scope in known.places]
_WORDS = ("mine", "a // b", 'say "hi"', "/* no comment */", "é\U0001f600", "", "{", "answerback")
_GAPS = ("", "", " ", "\n", "\n\t", "\n    ", " // mine\n", "/* x, } */", " /* two\n lines */ ")
_OWN = {"type": "command", "command": "my-own-hook"}
_NESTED: list[JsonValue] = [*_WORDS]
_VALUES: list[JsonValue] = [*_WORDS, 1, None, True, [], {}, {"b": [{"c": _NESTED}]}]
_HAND_MADE: list[JsonValue] = [{"url": "http://mine/mcp"}, {"type": "http", "url": "x"}, {}]
"""Entries of the same name as Answerback's."""
_BARE = (
    "",
    "\n",
    "{}",
    "{ }\n",
    "// only a comment",
    "// only a comment\n",
    "/* a */\n{}\n",
    "{\n  // none\n}",
)
"""Files in which nothing is set."""
_TOML_TOP = (
    'model = "x" # quick\n',
    "a=1\n\n\n",
    "# only a comment\n",
    'text = """\n[hooks]\n# no comment\n"""\n',
    'list = [\n\t1, # ]\n\t"[",\n]\n',
)
_TOML_TABLES = (
    "[tui]\n\ttheme = 'dark'   # tabs\n",
    '[mcp_servers.mine]\ncommand = "a" # c\n\n# about this one\n[mcp_servers.mine.env]\nX = "1"\n',
    '[projects."/a/b c"]\ntrust = true\n\n\n',
    '[[hooks.PreToolUse]]\nmatcher = "Bash"\n\n  [[hooks.PreToolUse.hooks]]\n  command = "mine"\n',
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "mine" # own\n\n# tail\n',
    "[features]\nx.y = true\ninline = { a = 1 }\n",
)
_TOML_ARRAYS = (
    "mcp_servers = []\n",
    "mcp_servers = [ # none\n]\n",
    'mcp_servers = [{ name = "mine", command = "a", args = ["]", "{"] }]\n',
    'mcp_servers = [\n    { name = "mine", url = "b" }, # one\n    { name = "other" },\n]\n',
    'mcp_servers = [{ name = "answerback", url = "http://mine/" }, {name="x"}]\n',
)
_TOML_ARRAY_TABLES = (
    '[[mcp_servers]]\nname = "mine"\n\n[mcp_servers.auth]\ntype = "static" # by hand\n\n',
    '[[mcp_servers]]\nname = "answerback"\nurl = "http://mine/"\n[mcp_servers.auth]\ntype = "oauth"\n',
)
_YAML_TOP = (
    "GOOSE_MODEL: x # quick\n",
    "# only a comment\n",
    "text: |-\n  extensions:\n    answerback: 1\n",
    "list:\n- 1\n-   a: [\"}\", '#']\n\n\n",
    "nothing:\nanchored: &a {b: 1}\nagain: *a\n",
)
_YAML_EXTENSIONS = (
    "extensions:\n",
    "extensions: # none\n\n",
    "extensions: {}\n",
    "extensions: { mine: {cmd: a}, }\n",
    "extensions:\n    mine:\n      cmd: a # c\n      args:\n      - b\n\n    # tail\n",
    'extensions:\n  mine: &m\n    text: >-\n      a\n\n      b\n  "answerback": # by hand\n    type: stdio\n  z: *m\n',
    "extensions: {answerback: {uri: http://mine/}, z: 1}\n",
)


def _own(random: Random, target: Target) -> Json:
    """The content of a file, with people's own servers and hooks next to ours."""
    data: Json = {}
    for key in random.sample(["theme", "a", "ui", "zz"], random.randint(0, 3)):
        data[key] = random.choice(_VALUES)
    for entry in target.entries:
        if random.random() < 0.4:
            continue
        *tables, last = entry.path
        at = data
        for table in tables:
            at = at.setdefault(table, {})  # type: ignore[assignment]  # an object, as all above are
        if isinstance(entry, ListItem):
            theirs: Json = {"matcher": "Bash", "hooks": [{**_OWN}]}
            groups: list[JsonValue] = [theirs] * random.randint(0, 2)
            if random.random() < 0.3:
                groups.append({"hooks": [{"type": "command", "command": "answerback hook x"}]})
            at[last] = groups
        elif random.random() < 0.5:
            at["mine"] = {"url": "http://elsewhere/"}
        elif random.random() < 0.5:
            at[last] = random.choice(_HAND_MADE)
    items = [*data.items()]
    random.shuffle(items)
    return dict(items)


def _jsonc(random: Random, value: JsonValue, *, noisy: bool) -> str:
    """JSON with comments, trailing commas and white space in all allowed positions."""

    def gap() -> str:
        return random.choice(_GAPS) if noisy else ""

    if isinstance(value, dict):
        found = [
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{_jsonc(random, each, noisy=noisy)}{gap()}"
            for key, each in value.items()
        ]
        begin, end = "{", "}"
    elif isinstance(value, list):
        found = [gap() + _jsonc(random, each, noisy=noisy) + gap() for each in value]
        begin, end = "[", "]"
    else:
        return json.dumps(value, ensure_ascii=random.random() < 0.5)
    comma = "," + gap() if noisy and found and random.random() < 0.3 else ""
    return begin + ",".join(found) + comma + (gap() if not found else "") + end


def _toml(random: Random, target: Target) -> str:
    servers = [entry for entry in target.entries if entry.path == ("mcp_servers",)]
    top = [*random.sample(_TOML_TOP, random.randint(0, 3))]
    tables = [each for each in _TOML_TABLES if not servers or "[mcp_servers." not in each]
    if servers and random.random() < 0.5:
        top.append(random.choice(_TOML_ARRAYS))
    elif servers:
        tables += _TOML_ARRAY_TABLES
    return "".join([*top, *random.sample(tables, random.randint(0, len(tables)))])


def _yaml(random: Random) -> str:
    parts = [*random.sample(_YAML_TOP, random.randint(0, len(_YAML_TOP)))]
    if random.random() < 0.7:
        parts.append(random.choice(_YAML_EXTENSIONS))
    random.shuffle(parts)
    return "".join(parts)


def _text(random: Random, target: Target) -> str:
    if not isinstance(target.format, JsoncFormat):
        is_toml = isinstance(target.format, TomlFormat)
        text = _toml(random, target) if is_toml else _yaml(random)
        return text if random.random() < 0.7 else text.rstrip("\n")
    if random.random() < 0.2:
        return random.choice(_BARE)
    own = _own(random, target)
    if random.random() < 0.4:
        return json.dumps(own, indent=random.choice([None, 0, 2, 4, "\t"]))
    text = _jsonc(random, own, noisy=True)
    return random.choice(["", "// mine\n", "\n"]) + text + random.choice(["", "\n", "\n// end\n"])


def _run(agent: str, scope: Scope, *, remove: bool, url: str, token_env: str | None) -> None:
    connect.command(
        connect.Agent(agent),
        url=url,
        token_env=token_env,
        scope=scope,
        only_print=False,
        remove=remove,
        yes=True,
    )


def _seen(*folders: Path) -> dict[str, tuple[int, bytes | str]]:
    """The complete state of a folder: links, permissions, bytes."""
    return {
        str(path): (
            stat.S_IMODE(path.lstat().st_mode),
            str(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for folder in folders
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _write(random: Random, targets: Sequence[Target], dotfiles: Path) -> None:
    for number, target in enumerate(targets):
        if random.random() < 0.15:
            continue  # a missing file
        text = _text(random, target)
        mark = "\ufeff" if random.random() < 0.2 else ""
        newline = random.choice(["\n", "\r\n"])
        path = target.file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path
        if random.random() < 0.2:
            real = dotfiles / str(number)
            path.symlink_to(real)
        real.write_bytes((mark + text.replace("\n", newline)).encode())
        real.chmod(random.choice([0o644, 0o600, 0o640, 0o444, 0o400]))


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(("agent", "scope"), BOTH)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_connecting_twice_and_removing_restores_every_file(
    agent: str, scope: Scope, seed: int
) -> None:
    known, random = AGENTS[agent], Random(seed)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        home, project, dotfiles = (Path(folder, name) for name in ("home", "project", "dotfiles"))
        for each in (home, project, dotfiles):
            each.mkdir()
        patch.setenv("HOME", str(home))
        for variable in ("CODEX_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"):
            patch.delenv(variable, raising=False)
        patch.delenv("GEMINI_CLI_HOME", raising=False)
        patch.delenv("ANSWERBACK_TOKEN", raising=False)
        patch.chdir(project)
        _write(random, known.targets(scope, ServiceConnection(), project), dotfiles)
        before = _seen(home, project, dotfiles)
        _run(agent, scope, remove=False, url="http://127.0.0.1:8420", token_env=None)
        once = _seen(home, project, dotfiles)
        assert once != before
        _run(agent, scope, remove=False, url="http://127.0.0.1:8420", token_env=None)
        assert _seen(home, project, dotfiles) == once
        _run(agent, scope, remove=False, url="http://127.0.0.1:9999", token_env="MY_TOKEN")
        _run(agent, scope, remove=True, url="http://127.0.0.1:8420", token_env=None)
        assert _seen(home, project, dotfiles) == before

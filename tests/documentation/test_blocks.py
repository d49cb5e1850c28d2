"""Every block of code is one that can be pasted, and what it names exists.

Blocks of `text` are output. `test_api_page` and `test_walks` run blocks that need a service, and tests/recipes those
that are copied from docs/recipes.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from typer.testing import CliRunner

from answerback.runtime.config_file import platform_variables
from answerback_agents.cli.main import all_commands, app
from tests.documentation.blocks import PAGES, Block, blocks, every_block
from tests.meta.project import ROOT
from tests.meta.wheels import FOLDERS

_PASTED: Final = {"sh", "python", "ts", "js", "toml", "json"}
_OUTPUT: Final = {"text"}
_OTHER_TABLES: Final = {"project": "a plug-in's pyproject.toml", "servers": "a gateway's policy"}
"""Tables with which a file begins that is no configuration of the service."""


def test_every_block_says_its_language() -> None:
    languages = {str(block): block.language for page in PAGES for block in blocks(page)}
    assert {
        at: language for at, language in languages.items() if language not in _PASTED | _OUTPUT
    } == {}


@pytest.mark.parametrize("block", every_block("json"), ids=str)
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", every_block("python"), ids=str)
def test_python_compiles(block: Block) -> None:
    ast.parse(block.text)


@pytest.mark.parametrize("block", every_block("sh"), ids=str)
def test_a_shell_reads_its_commands(block: Block) -> None:
    read = subprocess.run(
        ["bash", "-n"], input=block.text, capture_output=True, text=True, check=False
    )
    assert (read.returncode, read.stderr) == (0, "")
    assert not re.search(r"^\s*\$ ", block.text, re.MULTILINE), "a prompt would be pasted, too"
    assert not re.search(r"<[a-z ]+>", block.text), "a shell redirects from that"


@pytest.mark.parametrize(
    "block", [each for each in every_block("sh") if "answerback" in each.text], ids=str
)
def test_its_commands_of_ours_have_these_options(block: Block) -> None:
    program = typer.main.get_command(app)
    for arguments in _calls_of_answerback(block.text):
        _check(program, "answerback", arguments)


def _calls_of_answerback(script: str) -> list[list[str]]:
    """Return the arguments of each call of our program, inside of containers too."""
    calls = []
    bare = re.sub(r"'[^']*'", "TEXT", script.replace("\\\n", " ")).replace('"', "")
    for line in bare.splitlines():
        for command in re.split(r"&&|[;|&()<>]", line.partition(" #")[0]):
            arguments = command.split()
            names = [
                at for at, word in enumerate(arguments) if word.rpartition("/")[2] == "answerback"
            ]
            calls += [
                arguments[at + 1 :]
                for at in names
                if at == 0 or [*arguments, ""][at + 1] in all_commands()
            ][:1]
    return calls


def _check(command: Any, name: str, arguments: list[str]) -> None:
    """Parse the arguments of a command as the program does, without running it."""
    context = typer.Context(command, info_name=name)
    if (
        isinstance(command, typer.core.TyperGroup)
        and arguments
        and not arguments[0].startswith("-")
    ):
        found = command.get_command(context, arguments[0])
        assert found is not None, arguments
        _check(found, arguments[0], arguments[1:])
    else:
        command.make_parser(context).parse_args([*arguments])


@pytest.mark.parametrize(
    "block",
    [each for each in every_block("toml") if not tomllib.loads(each.text).keys() & _OTHER_TABLES],
    ids=str,
)
def test_a_configuration_is_valid(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (each for each in platform_variables() if each.endswith("_TOKEN")):
        monkeypatch.setenv(name, "123:token")
    (tmp_path / "answerback.toml").write_text(block.text, "utf-8")
    checked = CliRunner().invoke(app, ["serve", "--check"])
    assert checked.exit_code == 0, checked.output


def test_pip_gets_every_distribution_from_the_repository() -> None:
    """Only uv finds the others in the checkout by itself."""
    lines = [line for block in every_block("sh") for line in block.text.splitlines()]
    installing = [line for line in lines if line.startswith("pip install") and "git+" in line]
    assert installing
    for line in installing:
        named = set(re.findall(r'"(\S+) @ git', line))
        needed = FOLDERS.keys() - {
            "answerback",
            "answerback-testing",
        }  # tests of plug-ins alone use it
        assert named == {*needed, "answerback[all]"}, line


def test_the_files_that_commands_name_exist() -> None:
    named = {
        path
        for block in every_block("sh")
        for path in re.findall(r"(?<![\w/])(?:manifests|docs|tests)/[\w./-]+", block.text)
    }
    assert named
    assert {path for path in named if not (ROOT / path).exists()} == set()

"""The documentation covers every public name: keys, labels, metrics, calls, codes and commands."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
import typer
import typer.core
from prometheus_client import Metric
from pydantic import TypeAdapter

from answerback.api.metrics import Metrics
from answerback.api.routes import all_operations
from answerback.core.ask import Reason, Status
from answerback.core.walker import Source
from answerback.dialects.installed import installed_dialects, tool_names
from answerback.runtime.config_file import iter_setting_keys, platform_variables
from answerback.service.ask_wire import AskBody
from answerback_agents.cli.ask_output import EXIT_CODES, EXIT_STILL_OPEN
from answerback_agents.cli.main import all_commands, app, load_command
from answerback_agents.cli.output import EXIT_FAILED, EXIT_USAGE
from answerback_testing.simulated_people import Capability, Stage
from tests.meta import generated_docs
from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree
from tests.meta.wheels import FOLDERS, closure


def _page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


_MAX_WORDS = 45_000
"""Words that a reader of all pages but the specification has to read: neither code nor the lines of tables count."""


def test_the_documentation_stays_short() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "specification.md"]
    prose = [
        re.sub(r"^ *```.*?^ *```$", "", path.read_text("utf-8"), flags=re.M | re.S)
        for path in pages
    ]
    counted = [word for text in prose for word in text.split() if any(map(str.isalnum, word))]
    assert len(counted) <= _MAX_WORDS


def _undocumented(text: Iterator[str] | list[str], page: str) -> list[str]:
    return [word for word in text if f"`{word}`" not in page]


def test_every_configuration_key_is_documented() -> None:
    page = re.sub(r"<\w+>", "<name>", _page("configuration"))
    assert (
        _undocumented([key for key in iter_setting_keys() if not key.startswith("labels.")], page)
        == []
    )
    assert _undocumented(list(platform_variables()), page) == []


@pytest.mark.parametrize("part", generated_docs.PARTS)
def test_generated_parts_are_up_to_date(part: str) -> None:
    _, make = generated_docs.PARTS[part]
    assert generated_docs.read_part(part) == make(), "run python -m tests.meta.generated_docs"


def test_every_metric_is_documented() -> None:
    families: list[Metric] = list(Metrics().registry.collect())
    names = [
        f"{family.name}_total" if family.type == "counter" else family.name for family in families
    ]
    assert _undocumented(names, _page("operations")) == []


@pytest.mark.rule("ASK-1")
def test_every_field_of_an_ask_is_documented() -> None:
    page = _page("api").split("\n## The ask")[1].split("\n## ")[0]
    schema = TypeAdapter(AskBody).json_schema()
    prompts = [shape for name, shape in schema["$defs"].items() if name.endswith("PromptBody")]
    assert prompts
    names = {name for shape in (schema, *prompts) for name in shape["properties"]}
    assert _undocumented(sorted(names), page) == []


@pytest.mark.rule("RECORD-3")
def test_every_status_source_and_reason_is_documented() -> None:
    api = _page("api")
    assert _undocumented([str(word) for word in (*Status, *Source, *Reason)], api) == []


def test_every_command_has_a_heading_an_example_and_its_exit_codes() -> None:
    page = _page("commands")
    program = typer.main.get_command(app)
    assert _is_group(program)
    assert [name for name in all_commands() if f"## `answerback {name}`\n" not in page] == []
    helps = {
        name: command.help or ""
        for group in (program, *map(load_command, all_commands().values()))
        for name, command in (group.commands.items() if _is_group(group) else [])
        if not _is_group(command)
    }
    assert [name for name, text in helps.items() if "Example" not in text] == []
    statuses = [*EXIT_CODES.values(), EXIT_STILL_OPEN, EXIT_USAGE, EXIT_FAILED]
    assert [status for status in statuses if f"\n| {status} | " not in page] == []


def _is_group(command: object) -> TypeGuard[typer.core.TyperGroup]:
    return isinstance(command, typer.core.TyperGroup)


def test_every_call_is_documented() -> None:
    page = _page("api") + _page("operations")
    served = {f"{operation.method} {operation.path}" for operation in all_operations()}
    assert [call for call in sorted(served) if f"`{call}`" not in page] == []


_NOT_CALLED_BY_HAND = {"POST /mcp", "POST /hooks/claude"}
"""Calls that clients are configured to make, and nobody makes by hand."""


def test_every_call_has_an_example() -> None:
    blocks = re.findall(r"^ *```sh\n(.+?)^ *```$", _page("api"), re.M | re.S)
    commands = [
        command for block in blocks for command in re.findall(r"curl .+?(?=curl |\Z)", block, re.S)
    ]
    served = {f"{operation.method} {operation.path}" for operation in all_operations()}
    assert {_operation_called(command) for command in commands} == served - _NOT_CALLED_BY_HAND


def _operation_called(command: str) -> str:
    """Return the method and the path of a curl command."""
    method = re.search(r"-X (\w+)", command)
    path = re.search(r"\$url([^\s\"?]+)", command)
    assert path is not None, command
    http_method = method[1] if method else "POST" if " -d " in command else "GET"
    return f"{http_method} {re.sub(r'[$][a-z]+', '{id}', path[1])}"


def test_what_is_to_be_installed_from_a_checkout_is_all_that_it_needs() -> None:
    [braces] = re.findall(r"pip install bot/answerback_\{([\w,]+)\}", _page("deploy"))
    named = {f"answerback-{name}" for name in braces.split(",")}
    assert named == closure(["answerback-agents"]) & FOLDERS.keys()


def test_every_package_is_in_the_architecture() -> None:
    page = _page("architecture")
    packages = {path.parent.relative_to(ROOT) for path in sources(*SOURCE_FOLDERS)}
    hosts = Path("bot", "answerback_hosts")  # one row for all: another host is another folder
    packages = {hosts if hosts in each.parents else each for each in packages}
    assert _undocumented([f"{package}/" for package in sorted(packages)], page) == []


def test_the_picture_of_the_architecture_names_packages_that_exist() -> None:
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text("utf-8")
    named = set(re.findall(r'class="package"[^>]*>([\w.]+)<', picture))
    existing = {
        ".".join(path.parent.relative_to(ROOT).parts[1:]) for path in sources(*SOURCE_FOLDERS)
    }
    assert named
    assert named - existing == set()


def test_every_picture_and_page_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\((?!https:)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_every_dialect_and_tool_name_is_documented() -> None:
    page, dialects = _page("forms-and-dialects"), installed_dialects().usable
    assert _undocumented([*dialects, *tool_names()], page) == []
    assert [name for name in dialects if f"### `{name}`" not in page] == []


@pytest.mark.rule("ERROR-3")
def test_exactly_the_existing_error_codes_are_documented() -> None:
    table = _page("forms-and-dialects").split("## When a call is wrong")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    documented = {code for row in rows for code in re.findall(r"`(\w+)`", row)}
    used = {code for path in sources("bot") for code in _codes(path)}
    assert documented == used


def _codes(path: Path) -> Iterator[str]:
    """Yield the error codes that a module uses."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.keyword(arg="code", value=ast.Constant(value=str(code))):
                yield code
            case ast.Call(
                func=ast.Attribute(attr="fail") | ast.Name(id="_refuse"),
                args=[ast.Constant(value=str(code)), *_],
            ):
                yield code
            case (
                ast.AnnAssign(target=ast.Name(id="_CODES"), value=ast.Dict())
                | ast.Assign(targets=[ast.Name(id="code")], value=ast.IfExp())
            ):
                yield from _strings(node.value)
            case _:
                pass


def _strings(value: ast.Dict | ast.IfExp | ast.expr | None) -> Iterator[str]:
    parts = value.values if isinstance(value, ast.Dict) else []
    if isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    yield from (str(part.value) for part in parts if isinstance(part, ast.Constant))


def test_every_capability_of_a_surface_is_documented_with_its_methods() -> None:
    page = _page("surfaces")
    for capability in Capability:
        own = [
            name for name, member in vars(capability.value).items() if inspect.isfunction(member)
        ]
        (row,) = re.findall(rf"^\| `{capability.name}` \|.*$", page, re.MULTILINE)
        whose = "the stage" if Stage in capability.value.__mro__ else "the person"
        assert f"| {whose} |" in row
        assert _undocumented([name for name in own if not name.startswith("_")], row) == []

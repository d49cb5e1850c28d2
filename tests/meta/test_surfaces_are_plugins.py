"""The code that runs the service names no surface. Each is found by its entry point, including Answerback's own."""

import ast
import re
import tomllib
from importlib.metadata import entry_points

import pytest

from answerback.ports.plugin import GROUP
from answerback.runtime.plugins import installed_plugins
from tests.meta.project import PACKAGES, ROOT, files, sources, tree

NAMES = sorted(entry.name for entry in entry_points(group=GROUP))
WORDS = {"web": r"answerback_web|[\"'`]web[\"'`:]|web (surface|page)\b(?! of another)"}
"""Patterns for a name that is also an everyday word, where it means the surface."""


def test_all_entry_points_of_this_checkout_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for group, listed in project["entry-points"].items():
        installed = {entry.name for entry in entry_points(group=group)}
        assert listed.keys() <= installed, (
            "run: pip install --no-build-isolation --no-deps --editable ."
        )


@pytest.mark.rule("PLUGIN-1")
@pytest.mark.parametrize(
    "folder", ["agents", "api", "cli", "core", "dialects", "http", "runtime", "webhooks"]
)
def test_the_service_names_no_surface(folder: str) -> None:
    pattern = re.compile("|".join(WORDS.get(name, name) for name in NAMES), re.IGNORECASE)
    named = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files()
        if path.is_relative_to(ROOT / "bot" / "answerback" / folder)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert named == []


@pytest.mark.rule("PLUGIN-1")
def test_the_service_imports_no_library_of_a_surface() -> None:
    libraries = {each for plugin in installed_plugins() for each in plugin.packages}
    assert libraries
    imported = {
        (path.name, name.partition(".")[0])
        for path in sources("bot")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert [each for each in imported if each[1] in libraries] == []


def test_the_tools_know_every_package_and_every_surface() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    assert set(tools["importlinter"]["root_packages"]) == set(PACKAGES)
    layers = next(each for each in tools["importlinter"]["contracts"] if each["type"] == "layers")
    inside = ROOT / "bot" / "answerback"
    parts = {
        path.relative_to(inside).with_suffix("").parts[0]
        for path in sources("bot")
        if path.is_relative_to(inside)
    }
    assert set(re.findall(r"answerback\.(\w+)", str(layers["layers"]))) == parts - {"__init__"}
    assert {
        ".",
        *(path.relative_to(ROOT).parts[0] for path in sources("bot", "adapters", "storage")),
    } == set(tools["ruff"]["src"])
    chats = {
        path.parent.name
        for path in sources("adapters")
        if path.name == "plugin.py" and "from answerback_chat" in path.read_text("utf-8")
    }
    assert chats
    for contract in tools["importlinter"]["contracts"]:
        named = {chat for chat in chats if chat in str(contract)}
        assert named in (set(), chats), contract["name"]

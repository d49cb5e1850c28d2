"""What the project promises of its files: their place, size, names and first words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.project import ROOT, SOURCE_FOLDERS, files, sources, tree

MOST_LINES = 400
TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CHANGELOG.md",
    "LICENSE",
    "constraints.txt",
    *SOURCE_FOLDERS,
    "tests",
    "manifests",
    "docs",
    ".ci",
}
PUBLIC = ("answerback_client",)
"""Packages whose ``__init__`` exports what others import; a test of each pins the names."""
LOOP_TOPS = (
    # requests to the API
    "bot/answerback/api/problems.py",
    # what a platform hands over, and notes sent behind its back
    "adapters/answerback_chat/interactions.py",
    "adapters/answerback_slack/bolt_app.py",
    "adapters/answerback_chat/background_tasks.py",
    # what goes on in the background
    "adapters/answerback_discord/gateway_client.py",
    "adapters/answerback_chat/catch_up.py",
    "adapters/answerback_slack/socket_mode_client.py",
    "bot/answerback/webhooks/outbox.py",
    "bot/answerback/workers/message_sync.py",
    "bot/answerback/runtime/supervision.py",
    "bot/answerback/workers/scheduler.py",
    "storage/answerback_storage/postgres/change_batches.py",
    "storage/answerback_storage/sqlite/writer_thread.py",
)
"""Where one request, event or task that fails unforeseen must not take the others down."""


def test_nothing_else_lies_at_the_top_but_small_dot_files() -> None:
    strays = {
        top
        for path in files()
        if (top := path.relative_to(ROOT).parts[0]) not in TOP_LEVEL
        and not (top.startswith(".") and (ROOT / top).is_file())
    }
    assert strays == set()


def test_no_python_file_is_too_long_to_be_read_at_one_go() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in sources(*SOURCE_FOLDERS, "tests")
        if (count := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}, f"split these by what they are about; {MOST_LINES} lines is the most"


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "common.py"}
    assert [path for path in sources(*SOURCE_FOLDERS, "tests") if path.name in drawers] == []


def test_packages_run_no_code_when_they_are_imported() -> None:
    full = [
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS)
        if path.name == "__init__.py" and not _is_bare(path)
    ]
    assert full == []


def _is_bare(path: Path) -> bool:
    """Whether it holds a docstring at most; a public package also names what it exports."""
    allowed: tuple[type[ast.stmt], ...] = (ast.Expr,)
    if path.parent.name in PUBLIC:
        allowed = (ast.Expr, ast.ImportFrom, ast.Assign)
    return all(isinstance(node, allowed) for node in tree(path).body)


def test_every_module_says_what_it_owns() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS, "tests")
        if path.name != "__init__.py" and not ast.get_docstring(tree(path))
    ]
    assert silent == []


@pytest.mark.parametrize("package", SOURCE_FOLDERS)
def test_every_public_class_and_function_says_what_it_is_for(package: str) -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sources(package)
        for node in _public(tree(path))
        if not ast.get_docstring(node)
    ]
    assert silent == []


def _public(
    within: ast.Module | ast.ClassDef,
) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The definitions that others can name, methods of public classes included; a test's name says what it is for."""
    for node in within.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith(("_", "test_")):
                continue
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def test_what_is_caught_whole_is_raised_again_kept_for_its_caller_or_logged() -> None:
    dropped = [
        f"{path.relative_to(ROOT)}:{handler.lineno}"
        for path in sources(*SOURCE_FOLDERS)
        for handler in _catching_everything(path)
        if not _is_passed_on(handler) and not _is_logged(handler)
    ]
    assert dropped == []


def test_only_loop_tops_log_what_they_caught_and_go_on() -> None:
    tops = {
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS)
        for handler in _catching_everything(path)
        if not _is_passed_on(handler)
    }
    assert tops <= set(LOOP_TOPS)


def _catching_everything(path: Path) -> Iterator[ast.ExceptHandler]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "BaseException"
            if re.search(r"\b(Base)?Exception\b", caught):
                yield node


def _is_passed_on(handler: ast.ExceptHandler) -> bool:
    """Whether it is raised, or stored where the caller will find it."""
    inside = [node for statement in handler.body for node in ast.walk(statement)]
    return any(isinstance(node, ast.Raise) for node in inside) or any(
        isinstance(node, ast.Assign) and ast.unparse(node.value) == handler.name for node in inside
    )


def _is_logged(handler: ast.ExceptHandler) -> bool:
    return "logger.exception" in "\n".join(ast.unparse(node) for node in handler.body)

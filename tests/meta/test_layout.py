"""The project's rules for its files: where they are, and what they start with."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from tests.meta.project import ROOT, SOURCE_FOLDERS, files, sources, tree

MAX_DIALECT_LINES = 120
MAX_BRIDGE_LINES = 250
TOP_LEVEL = {
    "pyproject.toml",
    "README.md",
    "Makefile",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    *SOURCE_FOLDERS,
    "tests",
    "manifests",
    "docs",
    ".ci",
}
PUBLIC = ("answerback_client",)
"""Packages whose ``__init__`` exports public names. A test of each pins the names."""
DOCUMENTED = tuple(
    f"bot/{name}/"
    for name in (
        "answerback/core",
        "answerback/ports",
        "answerback_base",
        "answerback_testing",
        "answerback_client",
    )
)
"""The parts that the rest of the project, plug-ins and callers of the client build on."""
LOOP_TOPS = (
    # requests to the API
    "bot/answerback/api/problems.py",
    "bot/answerback/api/server.py",
    # events from a platform, and notes sent in the background
    "adapters/answerback_chat/interactions.py",
    "adapters/answerback_slack/bolt_app.py",
    "adapters/answerback_chat/background_tasks.py",
    # background work
    "adapters/answerback_chat/catch_up.py",
    "adapters/answerback_chat/missed_changes.py",
    "adapters/answerback_slack/inbox.py",
    "bot/answerback/outbox/dispatcher.py",
    "bot/answerback/workers/message_sync.py",
    "bot/answerback/runtime/supervision.py",
    "bot/answerback/workers/scheduler.py",
    "storage/answerback_postgres/change_batches.py",
    "storage/answerback_storage/sqlite/writer_thread.py",
)
"""Places where an unforeseen failure of one request, event or task must not take down the others, as well as the
connection of each chat, through which events come."""


def test_the_top_level_has_only_known_entries_and_dot_files() -> None:
    strays = {
        top
        for path in files()
        if (top := path.relative_to(ROOT).parts[0]) not in TOP_LEVEL
        and not (top.startswith(".") and (ROOT / top).is_file())
    }
    assert strays == set()


def test_a_unit_tests_folder_mirrors_the_package_that_it_tests() -> None:
    unit, fakes = ROOT / "tests/unit", ROOT / "tests/fakes"
    packages = {path.parent for path in sources(*SOURCE_FOLDERS)}
    packages |= {path.parent for path in sources("tests") if path.is_relative_to(fakes)}
    mirrors = {unit / _without_prefixes(package) for package in packages}
    mirrors |= {unit, unit / "adapters"}  # of several packages
    tests = [path for path in sources("tests") if path.is_relative_to(unit)]
    assert {path.parent for path in tests if path.name.startswith("test_")} - mirrors == set()


def _without_prefixes(package: Path) -> str:
    """Return a package's folder without what is in the name of each, as ``bot/core`` or ``adapters/slack``."""
    found = str(package.relative_to(ROOT)).removeprefix("tests/")
    return re.sub(r"/answerback(_storage)?(?=/|$)", "", found).replace("answerback_", "")


def test_a_dialect_is_short() -> None:
    bot = ROOT / "bot"
    dialects = (*bot.glob("answerback/dialects/*.py"), *bot.glob("answerback_hosts/*/dialect.py"))
    long = {
        path
        for path in dialects
        if "\nDIALECT: Final" in (text := path.read_text("utf-8"))
        and len(text.splitlines()) > MAX_DIALECT_LINES
    }
    assert long == set(), "move what a dialect reads or renders to modules beside it"


def test_a_bridge_is_only_what_is_its_hosts_own() -> None:
    shared, hosts = (ROOT / "bot" / f"answerback_{each}" for each in ("agents", "hosts"))
    bridges = (
        *shared.glob("bridges/*.py"),
        *hosts.glob("*/*_bridge.py"),
        *hosts.glob("*/app_*.py"),
    )
    long = {
        path for path in bridges if len(path.read_text("utf-8").splitlines()) > MAX_BRIDGE_LINES
    }
    assert long == set(), "move what is not its host's own to the frame"


def test_no_module_is_a_catch_all() -> None:
    catch_alls = {"utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "common.py"}
    assert [path for path in sources(*SOURCE_FOLDERS, "tests") if path.name in catch_alls] == []


def test_packages_run_no_code_when_they_are_imported() -> None:
    with_code = [
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS)
        if path.name == "__init__.py" and not _runs_no_code(path)
    ]
    assert with_code == []


def _runs_no_code(path: Path) -> bool:
    """Return whether it contains only a docstring, and in a public package also the exports."""
    allowed: tuple[type[ast.stmt], ...] = (ast.Expr,)
    if path.parent.name in PUBLIC:
        allowed = (ast.Expr, ast.ImportFrom, ast.Assign, ast.FunctionDef)
    return all(
        isinstance(node, allowed) or _is_for_type_checkers(node, allowed)
        for node in tree(path).body
    )


def _is_for_type_checkers(node: ast.stmt, allowed: tuple[type[ast.stmt], ...]) -> bool:
    """Return whether a block depends on `TYPE_CHECKING` alone, and contains only what a module may."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "not TYPE_CHECKING")
        and all(isinstance(each, allowed) for each in (*node.body, *node.orelse))
    )


def test_every_module_has_a_docstring() -> None:
    undocumented = [
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS, "tests")
        if path.name != "__init__.py" and not ast.get_docstring(tree(path))
    ]
    assert undocumented == []


def test_what_others_call_has_a_docstring() -> None:
    undocumented = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path in sources("bot")
        if str(path.relative_to(ROOT)).startswith(DOCUMENTED)
        for name, node in _public(tree(path))
        if not ast.get_docstring(node)
        and not _explains_itself(node)
        and not _inherits_docstring(path, name)
    ]
    assert undocumented == []


def _explains_itself(node: ast.AST) -> bool:
    """Return whether the body is a single statement that runs, which says as much as a docstring would."""
    match node:
        case ast.FunctionDef(body=[only]) | ast.AsyncFunctionDef(body=[only]):
            return not isinstance(only, ast.Expr | ast.Pass)
        case ast.ClassDef(body=[only]):
            return isinstance(only, ast.AnnAssign)
        case _:
            return False


def _inherits_docstring(path: Path, name: str) -> bool:
    """Return whether a definition is a method with the docstring of the one that it overrides."""
    owner, _, method = name.rpartition(".")
    if not owner:
        return False
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts[1:])
    found = attrgetter(owner)(importlib.import_module(module))
    return any(inspect.getdoc(vars(base).get(method)) for base in found.__mro__)


def _public(
    within: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the public definitions, including methods of public classes, but no tests: their names explain them."""
    for node in within.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith(("_", "test_")):
                continue
            yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _public(node, f"{prefix}{node.name}.")


def test_broad_exception_handlers_reraise_store_or_log() -> None:
    swallowed = [
        f"{path.relative_to(ROOT)}:{handler.lineno}"
        for path in sources(*SOURCE_FOLDERS)
        for handler in _broad_handlers(path)
        if not _is_passed_on(handler) and not _is_logged(handler)
    ]
    assert swallowed == []


def test_only_loop_tops_log_an_exception_and_continue() -> None:
    tops = {
        str(path.relative_to(ROOT))
        for path in sources(*SOURCE_FOLDERS)
        for handler in _broad_handlers(path)
        if not _is_passed_on(handler)
    }
    connections = {path for path in tops if Path(path).match("adapters/*/connection.py")}
    assert tops - connections <= set(LOOP_TOPS)


def _broad_handlers(path: Path) -> Iterator[ast.ExceptHandler]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "BaseException"
            if re.search(r"\b(Base)?Exception\b", caught):
                yield node


def _is_passed_on(handler: ast.ExceptHandler) -> bool:
    """Return whether the exception is raised again, or stored where the caller will find it."""
    inside = [node for statement in handler.body for node in ast.walk(statement)]
    return any(isinstance(node, ast.Raise) for node in inside) or any(
        isinstance(node, ast.Assign) and ast.unparse(node.value) == handler.name for node in inside
    )


def _is_logged(handler: ast.ExceptHandler) -> bool:
    """Return whether the exception is logged, if only by `answerback.api.problems.problem_response`."""
    body = "\n".join(ast.unparse(node) for node in handler.body)
    return "logger.exception" in body or f"problem_response(request, {handler.name})" in body


RIDDLES = {
    "words": "text, message, label, arguments",
    "told": "delivered, recipients, result",
    "heard": "acked, received",
    "noted": "recorded",
    "owing": "owed",
}
"""Names that do not say what they hold, and what to write instead."""


def test_names_say_what_they_hold() -> None:
    labels = ROOT / "bot/answerback/core/decision_labels.py"  # its names are settings
    found = {
        f"{path.relative_to(ROOT)}: {name} ({RIDDLES[name]})"
        for path in sources(*SOURCE_FOLDERS, "docs", "tests")
        if path != labels
        for node in ast.walk(tree(path))
        for name in _bound_names(node)
        if name in RIDDLES
    }
    assert found == set()


def _bound_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case _:
            pass

"""All wheels are complete, contain only the project's files, and work next to a user's own packages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.meta.project import PACKAGES, ROOT, SOURCE_FOLDERS, files
from tests.meta.wheels import (
    CLIENT,
    FOLDERS,
    NO_PACKAGES,
    RECORDED,
    build,
    closure,
    environment,
    project,
)

pytestmark = pytest.mark.long

Wheels = dict[str, Path]
"""The wheel of each distribution, by its name."""

_TIMEOUT = 30.0
_USER_PACKAGES = ("bot", "adapters", "storage")
"""Packages that a user's project may well have, named like Answerback's directories."""
_LIBRARIES = {
    "cryptography",
    "discord-py",
    "jsonschema-rs",
    "psycopg",
    "pynacl",
    "python-telegram-bot",
    "slack-bolt",
    "sqlite-utils",
    "uvloop",
}
"""The packages that only a service needs."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    return build(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def service(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the service and no extra."""
    return _environment(wheels, tmp_path_factory.mktemp("service"), "answerback")


@pytest.fixture(scope="module")
def client(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with only the client's wheel."""
    return _environment(wheels, tmp_path_factory.mktemp("client"), "answerback-client")


@pytest.fixture(scope="module")
def agents(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with what runs beside an agent, and no extra."""
    return _environment(wheels, tmp_path_factory.mktemp("agents"), "answerback-agents")


def _environment(wheels: Wheels, target: Path, wanted: str) -> Path:
    needed = [wheels[name] for name in FOLDERS if name in closure([wanted])]
    return environment(target, needed, [wanted])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's project that has packages named like Answerback's directories."""
    for name in _USER_PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"OWNER = {name!r}\n", encoding="utf-8")
    return tmp_path


def _contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def _run(*command: str | Path, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )


@contextmanager
def _serving(programs: Path, folder: Path) -> Iterator[str]:
    """Run the installed service until the context ends, and yield its address. It has to exit cleanly."""
    child = subprocess.Popen(
        [programs / "answerback", "serve"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "ANSWERBACK_SERVER__PORT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        first_line = child.stdout.readline()
        if not first_line.startswith("listening on "):
            raise AssertionError(f"it said {first_line!r} and then: {child.communicate()[1]}")
        yield first_line.removeprefix("listening on ").strip()
        child.send_signal(signal.SIGTERM)
        _, stderr = child.communicate(timeout=_TIMEOUT)
        assert child.returncode == 0, stderr
    finally:
        child.kill()
        child.communicate()


@pytest.mark.rule("CLIENT-3")
def test_each_file_of_the_packages_is_in_exactly_one_wheel(wheels: Wheels) -> None:
    separate = {folder: name for name, folder in FOLDERS.items() if folder}
    wanted: dict[str, set[str]] = {name: set() for name in FOLDERS}
    for path in files():
        inside = path.relative_to(ROOT)
        name = separate.get("/".join(inside.parts[:2]), "answerback")
        is_of_package = inside.parts[0] in SOURCE_FOLDERS and path.parent.name != RECORDED
        if is_of_package and not (name != "answerback" and path.name in NO_PACKAGES):
            wanted[name].add(inside.relative_to(inside.parts[0]).as_posix())
    assert {name: _contents(wheel) for name, wheel in wheels.items()} == wanted
    assert sum(map(len, wanted.values())) == len(set[str]().union(*wanted.values()))
    tops = {name.partition("/")[0] for contents in wanted.values() for name in contents}
    assert tops == set(PACKAGES)


@pytest.mark.rule("CLIENT-3")
def test_all_wheels_have_the_same_version_and_require_each_others() -> None:
    version = project()["version"]
    extra = project()["optional-dependencies"]["testing"]
    for name, folder in FOLDERS.items():
        assert project(folder)["version"] == version
        assert (ROOT / folder / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text()
        if name != "answerback":
            is_extra = name == "answerback-testing"
            assert f"{name}=={version}" in (extra if is_extra else project()["dependencies"])


@pytest.mark.rule("CLIENT-3")
def test_the_client_has_few_dependencies_and_forces_no_newer_ones_than_the_service() -> None:
    client, beside_agents, service = (
        {line.name: line for line in map(Requirement, distribution["dependencies"])}
        for distribution in (project(CLIENT), project(FOLDERS["answerback-agents"]), project())
    )
    assert len(client) <= 4
    for name, requirement in (*client.items(), *beside_agents.items()):
        (lowest,) = service[name].specifier
        assert requirement.specifier.contains(lowest.version)
    assert len(closure(["answerback-client"])) <= 20
    extras = project()["optional-dependencies"].keys() - {"all", "testing"}
    assert closure(["answerback[all]"]) == closure(
        ["answerback", *(f"answerback[{extra}]" for extra in extras)]
    )


@pytest.mark.rule("CLI-31")
def test_the_distribution_beside_an_agent_requires_none_of_the_services_libraries() -> None:
    assert closure(["answerback-agents"]).isdisjoint(_LIBRARIES)
    assert closure(["answerback[all]"]) >= _LIBRARIES


def test_the_suites_for_plug_ins_are_installed_only_where_they_are_wanted(
    wheels: Wheels, service: Path, tmp_path: Path
) -> None:
    wanted = _environment(wheels, tmp_path / "testing", "answerback[testing]")
    found = "import importlib.util as u; print(u.find_spec('answerback_testing') is not None)"
    assert _run(service / "python", "-c", found, folder=tmp_path).stdout == "False\n"
    suite = "import answerback_testing.surface_contract"
    done = _run(wanted / "python", "-c", suite, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.rule("CLIENT-3")
def test_both_work_next_to_a_users_own_packages(service: Path, client: Path, home: Path) -> None:
    script = home / "agent.py"
    script.write_text(
        """
import sys
import adapters, bot, storage
from answerback_client import AsyncClient, Client

with Client(sys.argv[1]) as answerback:
    ask = answerback.submit("ask_user", {"question": "Go?", "answer_type": "boolean"}, to="web")
    print(answerback.get(ask.id).status, adapters.OWNER, bot.OWNER, storage.OWNER)
""",
        encoding="utf-8",
    )
    with _serving(service, home) as url:
        for programs in (service, client):
            completed = _run(programs / "python", script, url, folder=home)
            assert (completed.stdout, completed.stderr) == ("open adapters bot storage\n", "")


@pytest.mark.rule("CLIENT-3")
def test_the_client_needs_only_its_declared_dependencies(client: Path, tmp_path: Path) -> None:
    script = """
import json, answerback_client
from importlib.metadata import distributions
print(json.dumps([held.name for held in distributions()]))
"""
    completed = _run(client / "python", "-c", script, folder=tmp_path)
    assert completed.returncode == 0, completed.stderr
    held = {name.lower().replace("_", "-") for name in json.loads(completed.stdout)}
    assert held == closure(["answerback-client"])
    absent = _run(client / "python", "-c", "import answerback", folder=tmp_path)
    assert "ModuleNotFoundError: No module named 'answerback'" in absent.stderr


@pytest.mark.rule("CONFIG-12")
@pytest.mark.parametrize(
    ("arguments", "environ", "sentence"),
    [
        (
            ["serve", "--check"],
            {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"},
            "The surface slack needs the extra 'slack', which is not installed: "
            "run `pip install 'answerback[slack]'`.",
        ),
        (
            ["serve"],
            {"DISCORD_BOT_TOKEN": "x", "ANSWERBACK_SERVER__PORT": "0"},
            "The surface discord needs the extra 'discord', which is not installed: "
            "run `pip install 'answerback[discord]'`.",
        ),
        (
            ["mcp"],
            {},
            "`answerback mcp` needs the extra 'mcp', which is not installed: "
            "run `pip install 'answerback[mcp]'`.",
        ),
    ],
)
def test_a_feature_without_its_extra_says_what_to_install(
    service: Path, tmp_path: Path, arguments: list[str], environ: dict[str, str], sentence: str
) -> None:
    completed = _run(service / "answerback", *arguments, folder=tmp_path, **environ)
    assert (completed.returncode, completed.stdout, completed.stderr) == (1, "", f"{sentence}\n")


@pytest.mark.rule("CONFIG-12")
def test_features_without_extras_work(service: Path, tmp_path: Path) -> None:
    form = tmp_path / "form.json"
    form.write_text('{"question": "Go?", "answer_type": "boolean"}', encoding="utf-8")
    for arguments in (
        ["preview", form, "--html", "page.html"],
        ["manifest", "slack"],
        ["doctor"],
        ["answer", "--help"],
    ):
        completed = _run(service / "answerback", *arguments, folder=tmp_path)
        assert completed.returncode == 0, completed.stderr


_NEED_EXTRAS = {
    "discord": "answerback_discord.adapter",
    "mcp": "answerback.mcp.endpoint",
    "oidc": "answerback_oidc.tokens",
    "otel": "answerback.runtime.tracing",
    "postgres": "answerback_postgres.store",
    "push": "answerback_push.pushes",
    "slack": "answerback_slack.adapter",
    "telegram": "answerback_telegram.adapter",
}
"""For each extra a module that cannot be imported without it."""


@pytest.mark.rule("CONFIG-12")
@pytest.mark.parametrize("extra", [*_NEED_EXTRAS, "all"])
def test_an_extra_alone_brings_all_that_its_feature_needs(
    wheels: Wheels, service: Path, tmp_path: Path, extra: str
) -> None:
    assert {*_NEED_EXTRAS, "all", "testing"} == {*project()["optional-dependencies"]}
    programs = _environment(wheels, tmp_path / "environment", f"answerback[{extra}]")
    modules = [_NEED_EXTRAS[extra]] if extra in _NEED_EXTRAS else [*_NEED_EXTRAS.values()]
    loading = f"import {', '.join(modules)}"
    imported = _run(programs / "python", "-c", loading, folder=tmp_path)
    assert imported.returncode == 0, imported.stderr
    missing = _run(service / "python", "-c", loading, folder=tmp_path)
    assert "ModuleNotFoundError" in missing.stderr
    with _serving(programs, tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")


@pytest.mark.rule("CLI-31")
def test_what_runs_beside_an_agent_needs_none_of_the_services_libraries(
    agents: Path, tmp_path: Path
) -> None:
    held = _run(
        *(agents / "python", "-c"),
        "import json; from importlib.metadata import distributions as d; print(json.dumps([x.name for x in d()]))",
        folder=tmp_path,
    )
    names = {name.lower().replace("_", "-") for name in json.loads(held.stdout)}
    assert names == closure(["answerback-agents"])
    assert names.isdisjoint(_LIBRARIES)
    listed = _run(agents / "answerback", "--help", folder=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert {"connect", "hook", "mcp-proxy"} <= set(listed.stdout.split())
    assert "serve" not in listed.stdout.split()
    away = "http://127.0.0.1:9"  # the discard port: nobody listens
    for arguments in (["list"], ["show", "ask_1"], ["withdraw", "ask_1"]):
        done = _run(agents / "answerback", *arguments, "--url", away, folder=tmp_path)
        assert done.returncode == 1
        assert "Cannot reach" in done.stderr, done.stderr
    for command, extra in (
        (["mcp-proxy", "--url", away], "mcp"),
        (["bridge", "openclaw"], "openclaw"),
    ):
        done = _run(agents / "answerback", *command, folder=tmp_path)
        assert done.stderr.endswith(
            f"needs the extra {extra!r}, which is not installed: "
            f"run `pip install 'answerback-agents[{extra}]'`.\n"
        )
    imported = "import answerback_agents.cli.bridged_server, answerback_agents.mcp_proxy.gateway"
    assert _run(agents / "python", "-c", imported, folder=tmp_path).returncode == 0
    shown = _run(agents / "answerback", "connect", "codex", "--print", folder=tmp_path)
    assert "http://127.0.0.1:8420" in shown.stdout, shown.stderr


_HOOK = """
import json, sys
from answerback_agents.cli import main
sys.argv = ["answerback", "hook", "codex", "--url", "http://127.0.0.1:9"]
try:
    main.main()
finally:
    print("MODULES", json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.rule("CLI-31")
def test_a_hook_imports_no_more_where_only_its_distribution_is_installed(
    agents: Path, service: Path, tmp_path: Path
) -> None:
    event = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": "/"})
    imported = {}
    for programs in (agents, service):
        done = subprocess.run(
            [programs / "python", "-c", _HOOK],
            input=event,
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        imported[programs] = set(json.loads(done.stderr.rpartition("MODULES ")[2].splitlines()[0]))
    assert imported[agents] == imported[service]
    assert len(imported[agents]) <= 310, "a hook runs hundreds of times a day"
    looking = "answerback_base.entry_points"  # for the commands of other distributions
    assert imported[agents].isdisjoint({"aiohttp", "asyncio", looking})
    ours = {name.partition(".")[0] for name in imported[agents] if name.startswith("answerback")}
    assert ours == {
        "answerback_agents",
        "answerback_base",
        "answerback_client",
        "answerback_hosts",
    }

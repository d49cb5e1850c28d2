"""The container file and the systemd unit do what docs/deploy.md says.

If a container engine is available, the image is built and run. Otherwise its steps are reproduced here: the files that
the container file copies, the installation that it runs, and the command that it starts. That downloads nothing: the
pinned packages are installed already, and the new environment sees them.
"""

from __future__ import annotations

import asyncio
import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from answerback.ports.person_key import hash_of, new_token
from tests.meta.project import ROOT, files

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

_CONTAINERFILE = ROOT / "manifests" / "Containerfile"
_UNIT = ROOT / "manifests" / "answerback.service"
_TARGET = "/opt/answerback"
_PATIENCE = 60.0
_FORM = {"questions": [{"id": "apply", "text": "Apply?", "answer_type": "boolean"}]}


def _instructions(stage: int) -> list[tuple[str, str]]:
    """Return the instructions of a stage of the container file: the name and the rest of each line."""
    text = re.sub(r"\\\n\s*", "", _CONTAINERFILE.read_text("utf-8"))
    stages = re.split(r"^FROM .*\n", text, flags=re.MULTILINE)[1:]
    lines = [line.partition(" ") for line in stages[stage].splitlines() if line]
    return [(name, rest) for name, _, rest in lines]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install what the first stage installs, from only the files that it copies."""
    folder = tmp_path_factory.mktemp("deployed")
    source, target = folder / "src", folder / "opt"
    _environment(target)
    for name, rest in _instructions(0):
        if name == "COPY":
            *wanted, place = rest.split()
            for name in wanted:
                _copy(
                    name,
                    source / place / Path(name).name if place.endswith("/") else source / place,
                )
        elif name == "RUN":
            assert _TARGET in rest
            subprocess.run(
                shlex.split(rest.replace(_TARGET, str(target))),
                cwd=source,
                env={**os.environ, "PIP_NO_INDEX": "1"},
                check=True,
                timeout=250,
            )
    return target


def _environment(target: Path) -> None:
    """Create an empty environment that sees the pinned packages, which are installed already."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True)
    packages = Path(
        sysconfig.get_path("purelib", vars={"base": str(target), "platbase": str(target)})
    )
    (packages / "pinned.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")


def _copy(name: str, place: Path) -> None:
    """Copy a file, or the files that git tracks in a folder."""
    below = [path for path in files() if path == ROOT / name or ROOT / name in path.parents]
    assert below, f"there is no {name} to copy"
    for path in below:
        copy = place / path.relative_to(ROOT / name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)


@asynccontextmanager
async def _run_service(
    command: list[str], folder: Path, environment: Mapping[str, str]
) -> AsyncIterator[str]:
    """Run a deployed service until the end of the context, when it must end cleanly; yield its address."""
    child = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE):
            first = (await child.stdout.readline()).decode()
        if not first.startswith("listening on "):
            _, err = await child.communicate()
            raise AssertionError(f"it printed {first!r} and then: {err.decode()}")
        yield re.sub(r"//[\d.]+:", "//127.0.0.1:", first.removeprefix("listening on ").strip())
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_PATIENCE):
            _, err = await child.communicate()
        assert child.returncode == 0, err.decode()
    finally:
        if child.returncode is None:
            child.kill()
            await child.communicate()


async def _expect_ask_accepted(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url) as http:
        async with http.get("/readyz") as ready:
            assert ready.status == 200, await ready.text()
        body = {"name": "ask_user", "arguments": _FORM, "to": "web"}
        async with http.post("/v1/asks", json=body) as refused:
            assert refused.status == 401
        async with http.post("/v1/asks", json=body, headers=headers) as taken:
            assert taken.status == 201, await taken.text()


def _write_configuration(file: Path) -> str:
    """Write a configuration with one agent; return its token."""
    token = new_token()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[agents.builder]\ntoken_hash = "{hash_of(token)}"\n', encoding="utf-8")
    return token


async def test_the_container_file_installs_a_working_service(
    installed: Path, tmp_path: Path
) -> None:
    token = _write_configuration(tmp_path / "answerback.toml")
    image = dict(_instructions(1))
    assert image["USER"].isdecimal()
    assert image["USER"] != "0"
    environment = dict(part.split("=", 1) for part in shlex.split(image["ENV"]))
    assert environment.pop("PATH") == f"{_TARGET}/bin:$PATH"
    environment = {
        name: value.replace("/data", str(tmp_path)).replace("/etc", str(tmp_path))
        for name, value in environment.items()
    }
    entry, *arguments = [part for name in ("ENTRYPOINT", "CMD") for part in _strings(image[name])]
    program = str(installed / "bin" / entry)
    async with _run_service(
        [program, *arguments], tmp_path, {**environment, "ANSWERBACK_SERVER__PORT": "0"}
    ) as url:
        await _expect_ask_accepted(url, token)
        inside = {
            "PATH": os.environ["PATH"],
            **environment,
            "ANSWERBACK_SERVER__PORT": url.rpartition(":")[2],
        }
        assert (await _run_inside(inside, tmp_path, program, "key")).startswith("abk_")
        assert "?key=abp_" in await _run_inside(inside, tmp_path, program, "person", "add", "ann")
        assert "Apply?" in await _run_inside(inside, tmp_path, program, "list")
        assert '"Apply?"' in await _run_inside(inside, tmp_path, program, "export")
    assert (tmp_path / "answerback.db").exists()


async def _run_inside(environment: Mapping[str, str], folder: Path, *command: str) -> str:
    """Run a command as in the container, next to its service; return what it prints."""
    child = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(_PATIENCE):
        out, err = await child.communicate()
    assert child.returncode == 0, err.decode()
    return out.decode()


@pytest.mark.rule("CONFIG-12")
def test_only_the_named_extras_are_installed(tmp_path: Path) -> None:
    target = tmp_path / "opt"
    _environment(target)

    def install(extras: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "manifests" / "install", "--extras", extras, target.name],
            cwd=tmp_path,  # a relative target is relative to the caller's folder
            env={**os.environ, "PIP_NO_INDEX": "1"},
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )

    done = install("mcp")
    assert done.returncode == 0, done.stderr
    wanted = {re.split("[>=]", line)[0] for line in (target / "wanted.txt").read_text().split()}
    assert {"aiohttp", "aiohttp-asgi", "mcp"} <= wanted
    assert {"slack-bolt", "discord.py", "pytest"}.isdisjoint(wanted)
    wrong = install("slck")
    assert (wrong.returncode, wrong.stderr.partition(":")[0]) == (1, "There is no extra 'slck'")


def _strings(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def _engine() -> str | None:
    """Return a container engine that works, if there is one."""
    for name in ("podman", "docker"):
        if shutil.which(name):
            asked = subprocess.run([name, "info"], capture_output=True, timeout=20, check=False)
            if asked.returncode == 0:
                return name
    return None


def _engine_with_base_image() -> str:
    """Return a container engine that has the base image, or skip the test and say what is missing."""
    engine = _engine()
    if engine is None:
        pytest.skip(
            "Neither podman nor docker answers on this machine, so the image was not built. "
            "The other tests of this file reproduced its steps without it."
        )
    base = re.findall(r"^FROM (\S+)", _CONTAINERFILE.read_text("utf-8"), re.MULTILINE)[-1]
    there = subprocess.run([engine, "image", "inspect", base], capture_output=True, check=False)
    if there.returncode != 0:
        pulled = subprocess.run(
            [engine, "pull", base], capture_output=True, text=True, timeout=300, check=False
        )
        if pulled.returncode != 0:
            pytest.skip(
                f"The base image {base} cannot be had here, so the image was not built: "
                f"{pulled.stderr.strip()}"
            )
    return engine


@pytest.mark.timeout(900)
def test_the_image_builds_and_its_command_runs() -> None:
    engine = _engine_with_base_image()
    image = f"answerback-test-{os.getpid()}"
    subprocess.run(
        [engine, "build", "--file", str(_CONTAINERFILE), "--tag", image, str(ROOT)], check=True
    )
    try:
        printed = subprocess.run(
            [engine, "run", "--rm", image, "token", "create", "builder"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "token_hash" in printed.stdout + printed.stderr
    finally:
        subprocess.run([engine, "rmi", "--force", image], check=False)


async def test_the_unit_starts_a_working_service(installed: Path, tmp_path: Path) -> None:
    token = _write_configuration(tmp_path / "etc" / "answerback" / "answerback.toml")
    (tmp_path / "var" / "lib" / "answerback").mkdir(parents=True)
    here = _UNIT.read_text("utf-8").replace(_TARGET, str(installed))
    here = re.sub(r"(?<=[ /=])/(etc|var)/", rf"{tmp_path}/\1/", here)
    unit = configparser.RawConfigParser(strict=False)  # SystemCallFilter has two lines
    unit.optionxform = str  # type: ignore[method-assign, assignment]  # systemd's keys have capitals
    unit.read_string(here)
    service = unit["Service"]
    name, _, value = service["Environment"].partition("=")
    environment = {name: value, "ANSWERBACK_SERVER__PORT": "0"}
    checked = await asyncio.create_subprocess_exec(
        *shlex.split(service["ExecStartPre"]),
        env={"PATH": os.environ["PATH"], **environment},
    )
    async with asyncio.timeout(_PATIENCE):
        assert await checked.wait() == 0
    assert float(service["TimeoutStopSec"]) <= _PATIENCE
    async with _run_service(shlex.split(service["ExecStart"]), tmp_path, environment) as url:
        await _expect_ask_accepted(url, token)
    assert (tmp_path / "var" / "lib" / "answerback" / "answerback.db").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_understands_every_line_of_the_unit(installed: Path, tmp_path: Path) -> None:
    here = tmp_path / _UNIT.name
    here.write_text(_UNIT.read_text("utf-8").replace(_TARGET, str(installed)), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(here)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    warnings = [line for line in checked.stderr.splitlines() if _UNIT.name in line]
    assert (checked.returncode, warnings) == (0, [])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_the_unit_is_confined() -> None:
    """systemd rates the exposure of a unit from 0 (confined) to 10; the threshold is in tenths."""
    checked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(_UNIT)],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout

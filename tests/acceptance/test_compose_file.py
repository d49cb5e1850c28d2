"""The compose file sets up what docs/deploy.md says: two replicas on PostgreSQL behind a proxy that ends TLS."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yaml

from answerback.core.labels import Labels
from answerback.ports.person_key import KeyHolder
from answerback.ports.plugin import Host
from answerback.ports.push import ComposePush, PushDesk, PushRules
from answerback.runtime.clock import SystemClock
from answerback.runtime.plugins import installed_plugins
from answerback.service.service import Service
from answerback.testing.memory_store.database import Tables
from answerback.testing.memory_store.store import MemoryStore
from tests.acceptance.process import run
from tests.meta.project import ROOT

pytestmark = pytest.mark.acceptance

_FOLDER: Final = ROOT / "manifests" / "compose"
_VARIABLES: Final = {
    "ADDRESS": "answerback.example.com",
    "AGENTS_ADDRESS": "agents.example.com",
    "POSTGRES_PASSWORD": "secret",
}


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    """The compose file, with the variables of `.env` filled in."""
    text = (_FOLDER / "compose.yaml").read_text("utf-8")
    assert set(re.findall(r"\$\{(\w+):\?set it in \.env\}", text)) == set(_VARIABLES)
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: _VARIABLES[found[1]], text)
    assert "$" not in text
    compose_file: dict[str, Any] = yaml.safe_load(text)
    return compose_file


def environment(services: dict[str, Any]) -> dict[str, str]:
    """Return a replica's environment: from the image, the compose file and the secrets."""
    image = (ROOT / "manifests" / "Containerfile").read_text("utf-8")
    found = dict(re.findall(r"(ANSWERBACK_\w+)=(\S+)", image))
    secrets = (_FOLDER / "secrets.env.example").read_text("utf-8").split()
    found |= dict(line.split("=") for line in secrets)
    found |= services["answerback"]["environment"]
    return found


@pytest.mark.rule("DATA-20")
async def test_its_replicas_have_a_valid_configuration(
    composed: dict[str, Any], tmp_path: Path
) -> None:
    services = composed["services"]
    mounted = [volume.split(":") for volume in services["answerback"]["volumes"]]
    (config,) = [Path(here) for here, there, *_ in mounted if there == "/etc/answerback.toml"]
    code, out, err = await run(
        *("serve", "--check", "--config", str(_FOLDER / config)),
        folder=tmp_path,
        environment=environment(services),
    )
    assert code == 0, err
    for line in (
        "agents' API: 0.0.0.0:8420",
        "agents: builder (agent)",
        "public listener: 0.0.0.0:8421, reached at https://answerback.example.com",
        "database: answerback on database",
        "surfaces: web, slack (HTTP)",
        "routes: ops; default ops",
    ):
        assert line in (out + err).splitlines()


@pytest.mark.rule("DATA-20")
def test_only_the_proxy_is_exposed_and_all_lasting_data_is_on_a_volume(
    composed: dict[str, Any],
) -> None:
    services = composed["services"]
    assert services["answerback"]["deploy"]["replicas"] == 2
    assert services["answerback"]["depends_on"]["database"] == {"condition": "service_healthy"}
    assert {name for name, each in services.items() if "ports" in each} == {"proxy"}
    named = {
        volume.split(":")[0] for each in services.values() for volume in each["volumes"]
    } & set(composed["volumes"])
    assert named == set(composed["volumes"])
    for each in services.values():
        for volume in each["volumes"]:
            here = volume.split(":")[0]
            assert here in named or (_FOLDER / here).is_file()
    assert (_FOLDER / services["answerback"]["build"]["context"]).resolve() == ROOT


@pytest.mark.rule("DATA-20")
async def test_the_proxy_forwards_every_public_route_and_none_of_the_agents(
    composed: dict[str, Any],
) -> None:
    text = (_FOLDER / "Caddyfile").read_text("utf-8")
    outside, agents = text.split("{$AGENTS_ADDRESS}")
    (matcher,) = re.findall(r"^\t@public path (.*)$", outside, re.MULTILINE)
    patterns = [re.compile(re.escape(one).replace(r"\*", ".*")) for one in matcher.split()]
    routes = await _public_routes()
    assert len(routes) > 3
    for path in routes:
        assert any(pattern.fullmatch(path) for pattern in patterns), path
    for pattern in patterns:
        assert any(pattern.fullmatch(path) for path in routes), f"nothing answers {pattern.pattern}"
    ports = environment(composed["services"])
    assert f"import replicas {ports['ANSWERBACK_PUBLIC__PORT']}\n" in outside
    assert "import replicas 8420\n" in agents
    assert "dynamic a answerback {args[0]} {" in text
    assert "answerback" in composed["services"]
    assert text.count("{") == text.count("}")


@pytest.mark.rule("DATA-20")
def test_the_proxy_accepts_its_configuration(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)} | _VARIABLES
    checked = subprocess.run(
        [
            *(Path(sys.executable).with_name("caddy"), "validate"),
            *("--adapter", "caddyfile", "--config", _FOLDER / "Caddyfile"),
        ],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
        timeout=250,
    )
    assert checked.returncode == 0, checked.stderr
    assert "Valid configuration" in checked.stdout + checked.stderr


_REACHED_BY_HTTP: Final[Mapping[str, Mapping[str, str]]] = {
    "discord": {"bot_token": "d", "public_key": "0" * 64},
    "slack": {"bot_token": "xoxb-1", "signing_secret": "s"},
    "telegram": {"bot_token": "1:t", "webhook": "true"},
    "web": {},
}
"""For each surface, settings with which it is reached over the public listener."""


async def _public_routes() -> list[str]:
    """Return the paths of the public listener, with all surfaces that people and platforms call."""

    async def secret() -> bytes:
        return bytes(32)

    async def holders() -> tuple[KeyHolder, ...]:
        return ()

    async def push(rules: PushRules, compose: ComposePush) -> PushDesk:
        raise AssertionError(f"{rules} and {compose} are not configured")

    async with aiohttp.ClientSession() as http:
        host = Host(
            http=http,
            labels=Labels(),
            secret=secret,
            local_url=lambda: "",
            public_url=lambda: "",
            holders=holders,
            tokens=True,
            now=lambda: 0.0,
            push=push,
        )
        asks = Service(MemoryStore(Tables()), SystemClock(), {}, known_surfaces=frozenset())
        paths = []
        for plugin in installed_plugins():
            await asyncio.to_thread(plugin.load)
            table = plugin.settings.model_validate(_REACHED_BY_HTTP[plugin.name])
            built = await plugin.build(table, host, asks)
            routes = [*built.hooks, *built.public_pages]
            assert routes, f"{plugin.name} is not reached by HTTP"
            paths += [route.path for route in routes]
    return paths


def test_the_documentation_names_every_file_next_to_the_compose_file() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    for path in sorted(_FOLDER.iterdir()):
        assert f"`{path.name}`" in page, path.name
    for name in _VARIABLES:
        assert name in page

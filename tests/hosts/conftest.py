"""The fixtures of the tests with real agents, and a service at which questions expire soon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from answerback_client import AsyncClient
from tests.agents.conftest import PATIENCE, Home, home, person, served
from tests.recipes.conftest import Person, Served, serving

__all__ = ["home", "person", "served"]

SOON = """
default_route = "soon"
[routes.soon]
to = "web"
expires_in = 5
"""


@pytest.fixture
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service at which questions expire."""
    with serving(tmp_path_factory.mktemp("impatient"), before=SOON) as made:
        yield made


@pytest.fixture
def unanswered_home(tmp_path: Path, impatient: Served) -> Home:
    """An empty home of an agent whose questions expire."""
    (tmp_path / "project").mkdir()
    return Home(tmp_path, impatient)


@pytest.fixture
async def onlooker(impatient: Served) -> AsyncIterator[Person]:
    """Somebody who sees what is asked there, and answers nothing."""
    async with AsyncClient(impatient.url, impatient.people_token) as front:
        yield Person(front, PATIENCE)


EDITING = """
default_route = "editing"
[routes.editing]
to = "web"
responders = ["U7"]
edit = true
"""


@pytest.fixture
def editing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service at which people may change what they allow."""
    with serving(tmp_path_factory.mktemp("editing"), before=EDITING) as made:
        yield made


@pytest.fixture
def editing_home(tmp_path: Path, editing: Served) -> Home:
    """An empty home of an agent that asks there."""
    (tmp_path / "project").mkdir()
    return Home(tmp_path, editing)


@pytest.fixture
async def editor(editing: Served) -> AsyncIterator[Person]:
    """Somebody who changes what they allow."""
    async with AsyncClient(editing.url, editing.people_token) as front:
        yield Person(front, PATIENCE)

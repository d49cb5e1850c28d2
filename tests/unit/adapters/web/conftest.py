"""A running site, and a browser without a screen or JavaScript that reads and submits its forms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.site import Site, site
from tests.unit.adapters.web.reader import Reader, reader


@pytest.fixture
async def web_site(tmp_path: Path) -> AsyncIterator[Site]:
    """A site without agent tokens."""
    async with site(tmp_path) as running:
        yield running


@pytest.fixture
async def visitor(web_site: Site) -> AsyncIterator[Reader]:
    """A visitor to that site's local listener."""
    async with reader(web_site.url) as visiting:
        yield visiting

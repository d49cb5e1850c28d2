"""The web page passes the suite of every surface."""

from __future__ import annotations

import pytest

from answerback.testing.surface_contract import SurfaceContract
from tests.browser.site import Site
from tests.unit.adapters.web.desk import WebDesk
from tests.unit.adapters.web.reader import Reader


class TestWeb(SurfaceContract):
    @pytest.fixture
    async def desk(self, web_site: Site, visitor: Reader) -> WebDesk:
        return WebDesk(web_site, visitor)

"""Grants on the page: the form without JavaScript, and the list in the inbox."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.grants import GrantOffer, Match
from answerback.core.labels import Labels
from answerback.ports.store import Write
from answerback_testing.example_asks import new_ask
from tests.browser.site import INBOX, Site, answering_path, site
from tests.unit.adapters.web.reader import Reader, reader
from tests.unit.adapters.web.test_people import ALICES, KEYS

LABELS = Labels()
RUN = Question(
    id="decision",
    text="Run ls",
    answer_type=AnswerType.SELECT,
    options=(
        Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE),
        Option(value="deny", label="Deny", kind=OptionKind.DENY),
    ),
)
OFFER = GrantOffer(
    matches=(
        Match(match="command", subject="ls <b>\n-la", scope="a"),
        Match(match="prefix:ls", subject="ls", scope="b"),
    ),
    minutes=60,
    uses=50,
)
pytestmark = pytest.mark.rule("GRANT-8")


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path, keys=KEYS) as running:
        yield running


@pytest.fixture
async def visitor(shared: Site) -> AsyncIterator[Reader]:
    async with reader(shared.url) as visiting:
        yield visiting


async def approval(shared: Site) -> Ask:
    ask = new_ask(
        "0123456789abcdef",
        to=Destination(surface="web"),
        form=Form(questions=(RUN,), decided_by_hand=True),
        responders=("operator",),
        at=shared.service.clock.now(),
        request={"agent": "coder", "route": "ops", "grants": OFFER},
    )
    await shared.service.store.asks.create(Write(ask), None)
    return ask


async def test_a_prompt_is_allowed_again_and_listed(shared: Site, visitor: Reader) -> None:
    ask = await approval(shared)
    page = await visitor.open(answering_path(ask))
    assert "Exactly this command: ls <b> -la" in " ".join(page.text.split())
    assert LABELS.grant_about in page.text
    page = await visitor.press(page, answering_path(ask), "grant", [("f0", "1"), ("f2", "7")])
    [grant] = await shared.service.list_grants(None)
    assert (grant.match, grant.uses, grant.until - grant.at) == ("prefix:ls", 7, 900)
    assert "revoke" in page.buttons
    inbox = await visitor.open(INBOX)
    assert LABELS.grants_title in inbox.text
    assert "Commands that begin with: ls" in inbox.text
    assert "0 of 7 uses" in inbox.text
    assert LABELS.grants_title not in (await visitor.open(ALICES)).text, "it is not hers"
    page = await visitor.press(page, answering_path(ask), "revoke")
    assert "revoke" not in page.buttons
    assert LABELS.grants_title not in (await visitor.open(INBOX)).text


@pytest.mark.parametrize("uses", ["", "0", "51", "many"])
async def test_what_is_wrong_is_said_and_kept(shared: Site, visitor: Reader, uses: str) -> None:
    ask = await approval(shared)
    page = await visitor.open(answering_path(ask))
    page = await visitor.press(page, answering_path(ask), "grant", [("f1", "1"), ("f2", uses)])
    assert page.status == 422
    assert page.value("f2") == uses
    for opened in ("others", "reply"):
        assert re.search(f'<details class="{opened}" id="[a-z]*" open>', page.markup)
    assert (await shared.stored(ask)).open
    assert await shared.service.list_grants(None) == []


async def test_what_is_not_offered_is_refused(shared: Site, visitor: Reader) -> None:
    ask = await shared.ask(
        name="PermissionRequest",
        arguments={"tool_name": "Bash", "tool_input": {"command": "ls"}},
    )
    page = await visitor.open(answering_path(ask))
    assert "grant" not in page.buttons
    page = await visitor.press(page, answering_path(ask), "grant", [("f0", "0"), ("f1", "7")])
    assert page.status == 422
    assert (await shared.stored(ask)).open

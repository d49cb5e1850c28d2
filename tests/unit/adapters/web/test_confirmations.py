"""The page of answers that wait for confirmation: each person is offered what they may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.actions import Answer, Confirm
from answerback.core.person import AuthMethod, Person
from answerback.ports.person_key import operator, operator_holder
from answerback.ports.surface import Acted, Actor
from answerback.service.submission_request import Route
from answerback_web.page_access import PageLinks
from tests.browser.site import SECRET, site
from tests.unit.adapters.web.reader import reader

PEOPLE = {
    f"abk_of-{name}-in-tests": Person(surface="web", user_id=name, known=AuthMethod.LINK)
    for name in ("ann", "bob", "cy", "dee")
} | {"abk_of-the-operator-in-tests": operator("web")}
PROD = Route.model_validate(
    {
        "to": "web",
        "responders": ["ann", "bob", "operator"],
        "confirmations": {"count": 2, "from": ["ann", "cy", "dee", "operator"]},
    }
)
QUESTIONS = (
    {"id": "drop", "text": "Drop it?", "answer_type": "boolean", "context": "the table users"},
    {"id": "why", "text": "Why?", "answer_type": "text", "context": "since it is big"},
)


@pytest.mark.rule("CONFIRM-2", "CONFIRM-5", "CONFIRM-6")
@pytest.mark.parametrize(
    ("who", "offered"),
    [
        ("ann", {"back", "hand_over"}),
        ("bob", {"back", "hand_over"}),
        ("cy", set()),
        ("dee", {"confirm"}),
        ("operator", {"hand_over"}),
    ],
)
async def test_the_page_offers_what_its_reader_may_do(
    tmp_path: Path, who: str, offered: set[str]
) -> None:
    [(key, person)] = [each for each in PEOPLE.items() if each[1].user_id == who]
    async with site(tmp_path, keys=PEOPLE, routes={"prod": PROD}) as shared:
        ask = await shared.ask(*QUESTIONS, to="prod")
        people = {each.user_id: each for each in PEOPLE.values()}
        steps = (("ann", Answer(value=True)), ("bob", Answer(value="so")), ("cy", Confirm()))
        for name, action in steps:
            done = await shared.service.act(ask.id, action, Actor(people[name]))
            assert isinstance(done, Acted)
        link = PageLinks(SECRET).answering_link(ask.id, operator_holder(key, person))
        async with reader(shared.url) as visitor:
            page = await visitor.open(f"/a/{link}")
    personal = {"confirm", "back", "hand_over"}
    assert page.buttons.keys() & personal == offered
    assert page.buttons.keys() >= {"object", "end_turn"}
    first, second = (page.text.index(each["context"]) for each in QUESTIONS)
    assert page.text.index("Drop it?") < first < page.text.index("Why?") < second

"""The application's slash commands, over bare REST calls, and the places where people see them."""

import pytest

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import NotPossibleError
from tests.unit.fakes.discord.conftest import Rest

DEPLOY: Payload = {"name": "deploy", "description": "Deploys", "type": 1, "contexts": [0]}


def route_of(fake: FakeDiscord) -> str:
    return f"/applications/{fake.application.id}/commands"


async def test_a_command_with_the_same_name_is_replaced_and_keeps_its_id(
    fake: FakeDiscord, rest: Rest
) -> None:
    status, created = await rest("POST", route_of(fake), DEPLOY)
    assert status == 201
    status, again = await rest("POST", route_of(fake), {**DEPLOY, "description": "Else"})
    assert (status, again["id"], again["description"]) == (200, created["id"], "Else")
    assert fake.application.commands == [again]


@pytest.mark.parametrize(
    "wrong", [{"name": "Deploy"}, {"name": "de ploy"}, {"description": ""}, {"description": "x" * 101}]
)  # fmt: skip
async def test_a_command_that_discord_would_reject_returns_50035(
    fake: FakeDiscord, rest: Rest, wrong: Payload
) -> None:
    status, refused = await rest("POST", route_of(fake), {**DEPLOY, **wrong})
    assert (status, refused["code"], list(refused["errors"])) == (400, 50035, list(wrong))


async def test_another_applications_commands_are_not_accessible(
    fake: FakeDiscord, rest: Rest
) -> None:
    assert (await rest("GET", "/applications/7/commands"))[1]["code"] == 20012


async def test_a_command_is_offered_only_in_its_contexts(fake: FakeDiscord, rest: Rest) -> None:
    ann = fake.person("ann", fake.add_guild())
    await rest("POST", route_of(fake), DEPLOY)
    with pytest.raises(NotPossibleError, match="no command /deploy"):
        await ann.command("deploy", fake.direct(ann.user))
    with pytest.raises(NotPossibleError, match="no command /other"):
        await ann.command("other", fake.direct(ann.user))

"""Slash commands of the application, by bare REST calls, and where people are offered them."""

import pytest

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.sight import NotPossibleError
from tests.unit.fakes.discord.conftest import Rest

DEPLOY: Payload = {"name": "deploy", "description": "Deploys", "type": 1, "contexts": [0]}


def route_of(fake: FakeDiscord) -> str:
    return f"/applications/{fake.application.id}/commands"


async def test_a_command_of_the_same_name_is_replaced_and_keeps_its_id(
    fake: FakeDiscord, rest: Rest
) -> None:
    status, made = await rest("POST", route_of(fake), DEPLOY)
    assert status == 201
    status, again = await rest("POST", route_of(fake), {**DEPLOY, "description": "Else"})
    assert (status, again["id"], again["description"]) == (200, made["id"], "Else")
    assert fake.application.commands == [again]


@pytest.mark.parametrize(
    "wrong", [{"name": "Deploy"}, {"name": "de ploy"}, {"description": ""}, {"description": "x" * 101}]
)  # fmt: skip
async def test_a_command_that_discord_would_refuse_is_50035(
    fake: FakeDiscord, rest: Rest, wrong: Payload
) -> None:
    status, refused = await rest("POST", route_of(fake), {**DEPLOY, **wrong})
    assert (status, refused["code"], list(refused["errors"])) == (400, 50035, list(wrong))


async def test_another_application_has_its_own(fake: FakeDiscord, rest: Rest) -> None:
    assert (await rest("GET", "/applications/7/commands"))[1]["code"] == 20012


async def test_a_command_is_offered_in_its_contexts_only(fake: FakeDiscord, rest: Rest) -> None:
    ann = fake.person("ann", fake.add_guild())
    await rest("POST", route_of(fake), DEPLOY)
    with pytest.raises(NotPossibleError, match="no command /deploy"):
        await ann.command("deploy", fake.direct(ann.user))
    with pytest.raises(NotPossibleError, match="no command /other"):
        await ann.command("other", fake.direct(ann.user))

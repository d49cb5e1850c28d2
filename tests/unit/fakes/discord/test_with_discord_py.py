"""The fake with the real discord.py client, over real sockets."""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import discord
import pytest
import yarl
from discord import ui

from tests.fakes.discord import interactions
from tests.fakes.discord.clock import Bell
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import NotPossibleError
from tests.fakes.discord.world import Channel
from tests.service_support import WAIT

Json = dict[str, Any]
ON_CLICK = Callable[[discord.Interaction], Awaitable[None]]


def _components(submitted: Json) -> list[Json]:
    """The components of a submitted modal, the nested ones included."""
    top: list[Json] = submitted["components"]
    return [*top, *(one["component"] for one in top if "component" in one)]


def _without_ids(component: Json) -> Json:
    """A component without the ids that Discord numbers, here and inside."""
    found = {key: value for key, value in component.items() if key != "id"}
    return (
        found | {"component": _without_ids(found["component"])} if "component" in found else found
    )


class Bot(discord.Client):
    """A client that records what it receives and answers interactions with one function."""

    def __init__(self, bell: Bell, on_click: ON_CLICK | None = None) -> None:
        intents = discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=True
        )
        super().__init__(
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.05,
        )
        self.bell, self.on_click = bell, on_click
        self.received: list[discord.Message] = []
        self.clicks: list[discord.Interaction] = []

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.clicks.append(interaction)
        self.bell.ring()
        if self.on_click:
            await self.on_click(interaction)

    async def on_message(self, message: discord.Message) -> None:
        self.received.append(message)
        self.bell.ring()


@asynccontextmanager
async def running(fake: FakeDiscord, bot: Bot) -> AsyncIterator[Bot]:
    await bot.login(fake.application.token)
    connection = asyncio.create_task(bot.connect())
    ready = asyncio.create_task(bot.wait_until_ready())
    try:
        async with asyncio.timeout(WAIT):
            await asyncio.wait({connection, ready}, return_when=asyncio.FIRST_COMPLETED)
        if connection.done():
            connection.result()
        yield bot
    finally:
        ready.cancel()
        await bot.close()
        await asyncio.gather(connection, ready, return_exceptions=True)


@pytest.fixture(autouse=True)
def pointed_at_the_fake(fake: FakeDiscord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord.http.Route, "BASE", fake.api_url)
    gateway = yarl.URL(fake.gateway.url)
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", gateway)


def view(*labels: str) -> ui.LayoutView:
    layout = ui.LayoutView(timeout=None)
    row: ui.ActionRow[ui.LayoutView] = ui.ActionRow()
    for label in labels:
        row.add_item(ui.Button(label=label, custom_id=f"id:{label}"))
    layout.add_item(ui.Container(ui.TextDisplay("**Deploy** to <@1>?"), row))
    return layout


def place(bot: Bot, channel: Channel) -> discord.PartialMessageable:
    return bot.get_partial_messageable(channel.id)


async def test_a_client_becomes_ready_and_knows_guild_channels_and_threads(
    fake: FakeDiscord, channel: Channel
) -> None:
    thread = fake.add_thread(channel, "work")
    async with running(fake, Bot(fake.bell)) as bot:
        assert bot.user is not None
        assert bot.user.id == fake.bot.id
        assert bot.application is not None
        found = bot.get_channel(thread.id)
        assert isinstance(found, discord.Thread)
        assert found.name == "work"


async def test_a_v2_message_with_the_same_nonce_is_stored_once_and_pings_nobody(
    fake: FakeDiscord, channel: Channel
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell)) as bot:
        first = await place(bot, channel).send(view=view("Yes"), nonce="ask-1")
        again = await place(bot, channel).send(view=view("Yes"), nonce="ask-1")
    assert first.id == again.id
    assert ada.latest(channel).labels == ["Yes"]
    assert ada.latest(channel).text == "**Deploy** to <@1>?"
    assert fake.pings == []


async def test_a_message_that_notifies_somebody_is_recorded_as_a_ping(
    fake: FakeDiscord, channel: Channel
) -> None:
    async with running(fake, Bot(fake.bell)) as bot:
        everyone = discord.AllowedMentions.all()
        sent = await place(bot, channel).send(view=view("Yes"), allowed_mentions=everyone)
        edited = await place(bot, channel).send("quiet")
        await edited.edit(content="@everyone", allowed_mentions=everyone)
    assert [(ping.message_id, ping.whom, ping.edit) for ping in fake.pings] == [
        (sent.id, ("user:1",), False),
        (edited.id, ("everyone",), True),
    ]


async def test_a_click_reaches_the_app_and_its_update_reaches_the_person(
    fake: FakeDiscord, channel: Channel
) -> None:
    async def update(interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(view=view("Back"))

    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell, update)) as bot:
        message = await place(bot, channel).send(view=view("Yes", "No"))
        stored = fake.world.message(channel.id, message.id)
        copy = ada.copy(stored)
        click = await ada.click("Yes")
        assert click.answered
        assert bot.clicks[0].user.id == ada.id
        assert bot.clicks[0].data is not None
        assert bot.clicks[0].data.get("custom_id") == "id:Yes"
        assert ada.sees(stored).labels == ["Back"]
        with pytest.raises(NotPossibleError):
            await ada.click("No")
        assert (await ada.click_on(copy, "No")).answered


async def test_a_modal_is_filled_in_by_label_and_submitted(
    fake: FakeDiscord, channel: Channel
) -> None:
    got: list[Any] = []

    async def open_modal(interaction: discord.Interaction) -> None:
        if interaction.type is discord.InteractionType.component:
            modal = ui.Modal(title="Answer", custom_id="modal:1")
            modal.add_item(ui.TextDisplay("Say why."))
            modal.add_item(
                ui.Label(text="Reason", component=ui.TextInput(custom_id="t", max_length=20))
            )
            radio: ui.RadioGroup[ui.Modal] = ui.RadioGroup(custom_id="r")
            radio.add_option(label="Red", value="red")
            radio.add_option(label="Blue", value="blue")
            modal.add_item(ui.Label(text="Colour", component=radio))
            modal.add_item(ui.Label(text="Sure", component=ui.Checkbox(custom_id="c")))
            await interaction.response.send_modal(modal)
        else:
            got.append(interaction.data)
            await interaction.response.send_message("noted", ephemeral=True)

    guild = fake.world.guilds[channel.guild_id or 0]
    ada, ben = fake.person("ada", guild), fake.person("ben", guild)
    async with running(fake, Bot(fake.bell, open_modal)) as bot:
        await place(bot, channel).send(view=view("Answer"))
        await ada.click("Answer")
        assert ada.modal is not None
        assert (ada.modal.title, ada.modal.texts) == ("Answer", ["Say why."])
        ada.fill("Reason", "x" * 21)
        with pytest.raises(NotPossibleError, match="Reason"):
            await ada.submit()
        ada.fill("Reason", "because")
        ada.fill("Colour", "Blue")
        ada.fill("Sure", True)
        assert (await ada.submit()).answered
    (submitted,) = got
    ids = [component["id"] for component in _components(submitted)]
    assert len(set(ids)) == len(ids) == 7
    assert submitted["custom_id"] == "modal:1"
    assert [_without_ids(component) for component in submitted["components"]] == [
        {"type": 10},
        {"type": 18, "component": {"type": 4, "custom_id": "t", "value": "because"}},
        {"type": 18, "component": {"type": 21, "custom_id": "r", "value": "blue"}},
        {"type": 18, "component": {"type": 23, "custom_id": "c", "value": True}},
    ]
    assert [note.text for note in ada.notes()] == ["noted"]
    assert ben.notes() == []


async def test_a_second_callback_returns_40060_and_a_late_one_10062(
    fake: FakeDiscord, channel: Channel
) -> None:
    codes: list[int] = []

    async def twice(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        again = discord.InteractionResponse(interaction)
        try:
            await again.defer()
        except discord.HTTPException as error:
            codes.append(error.code)
        fake.bell.ring()

    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell, twice)) as bot:
        await place(bot, channel).send(view=view("Yes"))
        assert (await ada.click("Yes")).answered
        await ada.until(lambda: codes)
        bot.on_click = None
        click = await ada.click("Yes", wait=False)
        fake.clock.advance(interactions.ANSWER_WITHIN + 0.1)
        assert (await ada.ended(click)).failed
        await ada.until(lambda: len(bot.clicks) == 2)
        with pytest.raises(discord.NotFound) as late:
            await bot.clicks[-1].response.defer()
    assert (codes, late.value.code) == ([40060], 10062)


async def test_an_invalid_form_returns_50035_with_the_path(
    fake: FakeDiscord, channel: Channel
) -> None:
    async with running(fake, Bot(fake.bell)) as bot:
        with pytest.raises(
            discord.HTTPException, match="label: Must be between 0 and 80"
        ) as refused:
            await place(bot, channel).send(view=view("x" * 81))
    assert (refused.value.status, refused.value.code) == (400, 50035)


async def test_a_429_is_retried_by_the_client_and_nothing_is_duplicated(
    fake: FakeDiscord, channel: Channel
) -> None:
    route = "POST /channels/*/messages"
    fake.faults.rate_limit(route)
    async with running(fake, Bot(fake.bell)) as bot:
        await place(bot, channel).send("once")
    assert [call.status for call in fake.faults.calls(route)] == [429, 200]
    assert len(channel.messages) == 1


async def test_a_resume_replays_missed_events_and_can_repeat_others(
    fake: FakeDiscord, channel: Channel
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell)) as bot:
        ada.types(channel, "one")
        await fake.bell.until(lambda: len(bot.received) == 1)
        fake.gateway.replay_extra = 1
        await fake.gateway.disconnect(4000)
        ada.types(channel, "two")
        await ada.until(lambda: fake.gateway.resumes)
        await fake.bell.until(lambda: len(bot.received) == 3)
        assert [message.content for message in bot.received] == ["one", "one", "two"]


async def test_requesting_an_intent_that_is_not_granted_closes_the_connection_with_4014(
    fake: FakeDiscord, channel: Channel
) -> None:
    fake.application.message_content = False
    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with running(fake, Bot(fake.bell)):
            pass


async def test_a_connection_cut_without_a_closing_frame_is_resumed(
    fake: FakeDiscord, channel: Channel
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell)) as bot:
        fake.gateway.abort()
        await fake.bell.until(lambda: fake.gateway.resumes == 1)
        ada.types(channel, "here")
        await fake.bell.until(lambda: [each.content for each in bot.received] == ["here"])


async def test_a_direct_message_and_a_click_in_it_carry_the_user(fake: FakeDiscord) -> None:
    async def acknowledge(interaction: discord.Interaction) -> None:
        await interaction.response.defer()

    ada = fake.person("ada")
    async with running(fake, Bot(fake.bell, acknowledge)) as bot:
        user = await bot.fetch_user(ada.id)
        await user.send(view=view("Yes"))
        assert (await ada.click("Yes")).answered
        ada.dm("hello")
        await fake.bell.until(lambda: any(each.content == "hello" for each in bot.received))
        assert bot.clicks[0].user.id == ada.id
        assert bot.clicks[0].guild_id is None


async def test_simultaneous_clicks_by_two_people_are_separate_interactions(
    fake: FakeDiscord, channel: Channel
) -> None:
    async def note(interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"for {interaction.user.id}", ephemeral=True)

    guild = fake.world.guilds[channel.guild_id or 0]
    ada, ben = fake.person("ada", guild), fake.person("ben", guild)
    async with running(fake, Bot(fake.bell, note)) as bot:
        await place(bot, channel).send(view=view("Yes"))
        clicks = await asyncio.gather(ada.click("Yes"), ben.click("Yes"))
    assert [click.answered for click in clicks] == [True, True]
    assert [each.text for each in ada.notes()] == [f"for {ada.id}"]
    assert [each.text for each in ben.notes()] == [f"for {ben.id}"]


async def test_a_file_is_uploaded_and_its_text_is_read(fake: FakeDiscord, channel: Channel) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    async with running(fake, Bot(fake.bell)) as bot:
        sent = await place(bot, channel).send(file=discord.File(io.BytesIO(b"whole text"), "a.txt"))
        assert ada.latest().text == "whole text"
        await sent.edit(content="short", attachments=[])
    assert ada.latest().text == "short"

"""Discord's limits for whole messages, its deadlines and its flags, each at its edge.

The numbers are those of the fake's own rules, `tests/fakes/discord`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from answerback.core.errors import RateLimitedError
from answerback.core.files import AttachedFile
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback_chat.control_codec import Control, Verb
from answerback_discord import (
    api_client,
    components,
    doctor,
    inbox_view,
    manifest,
    parse,
    posting,
    private_notes,
    render,
    show_in_full,
    slash_commands,
)
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json
from answerback_discord.plugin import DiscordSettings
from answerback_testing.example_asks import with_values
from answerback_testing.example_commands import EXAMPLE_COMMANDS
from tests.fakes.discord import rest_app, rules
from tests.fakes.discord.rules import check_message
from tests.fakes.discord.world import EPOCH_MS, Can
from tests.limit_edges import edge
from tests.unit.adapters.discord.sendable import (
    BOOLEAN,
    LABELS,
    TEXT,
    of_type,
    one,
    shown,
)

pytestmark = pytest.mark.rule("DISCORD-5")
ANSWER_TIMEOUT = api_client.ANSWER_TIMEOUT
"""Seconds, unless a test changes it."""


# --- whole messages ------------------------------------------------------------------------------


@edge("MESSAGE_TEXT")
def test_all_texts_of_a_message_together() -> None:
    """A hundred of the four thousand units are reserved for the marks around the texts."""
    for length, full in ((3_900, True), (3_901, False)):
        [text] = of_type(
            10, list(components.iter_components(private_notes.note("x" * length)["components"]))
        )
        assert (text["content"] == "x" * length) == full
    for filling in ("x", "*", "\U0001f469"):
        ask = one(TEXT, text=filling * 20_000, context=filling * 20_000)
        shown(ask)
        for verb in (Verb.SHOW_IN_FULL, Verb.PREVIEW):
            assert check_message(show_in_full.page(view_of(ask), verb, 0, LABELS)) == []


ADDRESS = "https://discord.com/channels/41771983423143937/41771983423143938/41771983423143939"


@edge("CONTENT")
def test_a_reminder_ends_with_its_url_however_long_its_text_is() -> None:
    for who in ((), ("80351110224678912", "@80351110224678913")):
        around = len(private_notes.reminder(who, "", ADDRESS))
        for length, full in ((2_000, True), (2_001, False)):
            text = "x" * (length - around)
            content = private_notes.reminder(who, text, ADDRESS)
            assert (text in content) == full
            assert content.endswith(f" {ADDRESS}")
            assert check_message({"content": content}) == []
    for text in ("*" * 2_000, "\U0001f469" * 2_000):
        content = private_notes.reminder(["8" * 20] * 40, text, ADDRESS)
        assert content.endswith(f" {ADDRESS}")
        assert check_message({"content": content}) == []


@edge("COMMAND_DESCRIPTION")
def test_the_description_of_the_command() -> None:
    for length, full in ((100, True), (101, False)):
        text = "x" * length
        offered = [EXAMPLE_COMMANDS[0]._replace(about=text)]
        labels = Labels(inbox_command=text, commands=text)
        made = slash_commands.definitions(labels, offered)
        assert [rules.check_command(each) for each in made] == [[], []]
        assert [each["description"] == text for each in made] == [full, full]


def test_a_page_of_the_inbox_fits_the_longest_asks() -> None:
    labels = Labels(next="n" * 100, refresh="r" * 100, open_message="o" * 100)
    message: Json = {"id": "8" * 20, "channel": "8" * 20, "guild": "8" * 20}
    for filling in ("x", "*", "\U0001f469"):
        ask = with_values(one(TEXT, text=filling * 20_000), message=message)
        shown = inbox_view.page(Page((ask,) * inbox_view.ASKS_PER_PAGE, "d2FpdGluZzox"), labels)
        assert rules.check_callback({"type": 4, "data": shown}) == []


@edge("NONCE")
def test_the_nonce_of_a_post() -> None:
    nonce = posting._nonce("ask_1", {"channel": "1", "since": "2"})
    assert len(nonce) == 25
    assert check_message({"content": "x", "nonce": nonce, "enforce_nonce": True}) == []


def test_the_longest_custom_id_is_valid_for_discord() -> None:
    for verb in Verb:
        custom_id = Control("ask_" + "z" * 40, 999_999_999, verb, "A" * 30).encode()
        assert (
            check_message(components.message(components.rows([components.button("b", custom_id)])))
            == []
        )


# --- times ---------------------------------------------------------------------------------------


@edge("ANSWER_SECONDS")
def test_a_response_is_given_up_half_a_second_before_discord_does() -> None:
    assert ANSWER_TIMEOUT == 3.0 - 0.5


@edge("REQUESTS_PER_SECOND")
def test_five_of_discords_fifty_requests_a_second_are_left_to_others() -> None:
    async def taken() -> int:
        now = asyncio.get_running_loop()
        now.time = lambda: 5.0  # type: ignore[method-assign]
        session: Any = None
        made = DiscordApi(session, "token")
        for count in range(60):
            try:
                made._acquire("GET /channels/1")
            except RateLimitedError:
                return count
        raise AssertionError("nothing limits the requests")

    assert asyncio.run(taken()) == 50 - 5


@edge("EPOCH_MS")
def test_an_id_contains_its_creation_time() -> None:
    documented = "175928847299117063"  # https://docs.discord.com/developers/reference#snowflakes
    assert parse.snowflake_time(documented) == 1_462_015_105.796
    assert parse.snowflake_time(str((1_700_000_000_123 - EPOCH_MS) << 22)) == 1_700_000_000.123


# --- bits ----------------------------------------------------------------------------------------


@edge("EPHEMERAL", "COMPONENTS_V2")
def test_the_flags_of_a_message() -> None:
    for private, flags in ((False, rules.IS_COMPONENTS_V2), (True, rules.IS_COMPONENTS_V2 | 64)):
        message = components.message([components.text("x")], private=private)
        assert message["flags"] == flags
        assert check_message(message) == []
        click: Any = {
            "id": "1", "application_id": "2", "token": "t", "type": 3, "user": {"id": "2", "username": "ann"},
            "data": {"custom_id": "ab1:ask_1:1:back"}, "message": {"id": "3", "flags": flags},
        }  # fmt: skip
        found = parse.parse_interaction(click)
        assert found is not None
        assert found.private == private


NEEDED = (
    Can.VIEW_CHANNEL
    | Can.SEND_MESSAGES
    | Can.READ_MESSAGE_HISTORY
    | Can.CREATE_PUBLIC_THREADS
    | Can.SEND_MESSAGES_IN_THREADS
    | Can.ADD_REACTIONS
)


@edge("PERMISSIONS")
def test_the_app_requests_only_the_permissions_it_needs() -> None:
    assert int(NEEDED) == manifest.PERMISSION_BITS & ~int(Can.ATTACH_FILES)


@edge("ATTACH_FILES")
def test_the_app_requests_the_permission_to_show_pictures() -> None:
    assert int(NEEDED | Can.ATTACH_FILES) == manifest.PERMISSION_BITS


@edge("ADMINISTRATOR")
def test_only_an_administrator_may_do_everything() -> None:
    for bit in range(50):
        roles: list[Json] = [{"id": "1", "permissions": str(1 << bit)}]
        may = doctor.compute_permissions("1", roles, {"roles": []}, [], "9")
        assert may == (-1 if bit == 3 else 1 << bit)


@edge("FLAG_MESSAGE_CONTENT")
def test_the_flags_that_allow_reading_texts() -> None:
    settings = DiscordSettings(bot_token=SecretStr("token"))
    for bit in range(25):
        found = doctor._message_content(settings, {"flags": 1 << bit})
        assert (found.wrong is None) == (bit in {18, 19})


@edge("FLAG_MESSAGE_CONTENT_LIMITED", "SETTABLE_FLAGS")
def test_the_flags_that_are_set() -> None:
    assert manifest.application_settings(None)["flags"] == rest_app.MESSAGE_CONTENT_LIMITED
    assert doctor.flags_to_set((1 << 25) - 1) == rest_app.SETTABLE_FLAGS
    assert doctor.flags_to_set(0) == rest_app.MESSAGE_CONTENT_LIMITED


@edge("PICTURE_TEXT")
def test_the_description_of_a_picture() -> None:
    for length in (1_024, 1_025):
        sent = AttachedFile(
            id="a", name="a.png", media_type="image/png", bytes=1, sha256="0", alt="x" * length
        )
        view = view_of(one(BOOLEAN))._replace(files=(sent,))
        message = render.message(view, LABELS, pictures={"a": "picture0.png"})
        [gallery] = of_type(
            components.MEDIA_GALLERY, [*components.iter_components(message["components"])]
        )
        described = gallery["items"][0]["description"]
        assert (described == "x" * length) == (length == 1_024)
        assert len(described) <= 1_024

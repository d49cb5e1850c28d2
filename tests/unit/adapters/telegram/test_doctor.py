"""`answerback doctor` says what keeps people from answering on Telegram, and how to change that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Status
from answerback.ports.plugin import DoctorContext
from answerback_telegram.http_endpoint import PATH
from answerback_telegram.plugin import TelegramPlugin, TelegramSettings
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO


async def find_wrong(
    telegram: FakeTelegram | None = None, token: str = "", *, webhook: bool = False, **more: Any
) -> list[str | None]:
    """Run the doctor; return what it found wrong, None for each thing that is fine."""
    if telegram is None:
        async with FakeTelegram() as fresh:
            return await find_wrong(fresh, token, webhook=webhook, **more)
    async with aiohttp.ClientSession() as http:
        checkup = DoctorContext(
            http, more.pop("public_url", None), [*map(str, telegram.chats)], **more
        )
        settings = {"bot_token": token or telegram.token, "api_url": telegram.url}
        found = TelegramPlugin().findings(
            TelegramSettings.model_validate({**settings, "webhook": webhook}), checkup
        )
        return [each.wrong async for each in found]


async def test_the_doctor_says_what_is_wrong() -> None:
    async with FakeTelegram() as telegram:
        group = telegram.add_group()
        telegram.add_user("Ann")
        assert await find_wrong(telegram) == [None] * 5
        del telegram.chats[max(telegram.chats)]
        group.username = "everybody"
        assert "public" in str((await find_wrong(telegram, responders=("anyone",)))[-1])
        assert "until the service starts" in str((await find_wrong(telegram, webhook=True))[1])
        telegram.webhook = {"url": f"https://a.example{PATH}"}
        telegram.webhook_error = "Connection refused"
        public: dict[str, Any] = {"webhook": True, "public_url": "https://a.example/"}
        assert "Connection refused" in str((await find_wrong(telegram, **public))[1])
        telegram.webhook_error = None
        telegram.can_join_groups = False
        assert [each for each in await find_wrong(telegram, **public) if each] == [
            "the bot cannot be added to groups"
        ]
        telegram.can_join_groups, telegram.reads_all = True, False
        assert await find_wrong(telegram, **public) == [None] * 4
        assert len(await find_wrong(telegram, "other")) == 1


@pytest.mark.rule("TELEGRAM-11")
async def test_the_doctor_names_the_new_id_of_a_group_that_became_a_supergroup() -> None:
    async with FakeTelegram() as telegram:
        group = telegram.add_group(kind="group")
        assert await find_wrong(telegram) == [None] * 4
        telegram.migrate(group)
        wrong = [each for each in await find_wrong(telegram) if each]
        assert wrong == ["The group has become a supergroup"]


@pytest.mark.parametrize(
    ("status", "kind", "wrong"),
    [
        ("left", "supergroup", "the bot is not in it"),
        ("restricted", "supergroup", "the bot may not write there"),
        ("kicked", "supergroup", "Telegram refused getChat"),
        ("member", "channel", "it is a channel"),
    ],
)
async def test_the_doctor_says_why_nobody_can_be_asked_in_a_chat(
    tmp_path: Path, status: str, kind: str, wrong: str
) -> None:
    async with rig(tmp_path) as at:
        at.group.username, at.group.type = "everybody", kind
        at.group.members[at.telegram.bot.id] = status
        [found] = [each for each in await find_wrong(at.telegram) if each]
        assert wrong in found
        if status != "restricted":
            ask = await at.submit([GO])
            assert ask.status is Status.FAILED


@pytest.mark.rule("TELEGRAM-18")
@pytest.mark.parametrize(
    ("status", "rights", "wrong"),
    [
        ("member", {"can_send_photos": False}, "may not send photos there"),
        ("member", {"can_send_documents": False}, "may not send files there"),
        ("restricted", {"can_send_photos": False, "can_send_documents": False}, "photos or files"),
        ("administrator", {"can_send_photos": False}, None),
        ("member", {}, None),
    ],
)
async def test_the_doctor_says_where_pictures_are_only_named(
    status: str, rights: dict[str, bool], wrong: str | None
) -> None:
    async with FakeTelegram() as telegram:
        group = telegram.add_group()
        group.members[telegram.bot.id] = status
        group.rights = rights
        group.may_write = True
        [found] = [each for each in await find_wrong(telegram) if each] or [""]
        assert (wrong or "") in str(found)
        assert bool(found) is bool(wrong)

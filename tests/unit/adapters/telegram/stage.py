"""The Telegram stage, for the contract suite of all surfaces."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback_chat.delays import Delays
from answerback_telegram import limits
from answerback_telegram.http_endpoint import PATH
from answerback_telegram.parse import message_id
from answerback_testing.surface_harness import SurfaceHarness
from tests.fakes.long_timeouts import HASTY, PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.surface_setups import LoadBalancer, Setup, start_replicas
from tests.unit.adapters.telegram.rig import Mode, run_surface
from tests.unit.adapters.telegram.simulated_people import SimulatedTelegramPerson


class TelegramStage:
    """See `answerback_testing.simulated_people.Stage`."""

    def __init__(self, telegram: FakeTelegram, setup: Setup, mode: Mode) -> None:
        self.telegram = telegram
        self.group = telegram.add_group()
        self.place = Destination(surface="telegram", channel=str(self.group.id))
        self._setup = setup
        self._mode: Mode = mode
        self._token = telegram.token
        self._load_balancer = LoadBalancer(PATH, self._set_target)
        self._up = AsyncExitStack()
        self.harness: SurfaceHarness

    async def add_person(self, name: str) -> SimulatedTelegramPerson:
        user = self.telegram.add_user(name)
        self.group.members[user.id] = "member"
        return SimulatedTelegramPerson(self.telegram, self.group, user)

    async def add_person_alone(
        self, name: str, *, reachable: bool = True
    ) -> SimulatedTelegramPerson:
        user = self.telegram.add_user(name, started=reachable)
        return SimulatedTelegramPerson(self.telegram, self.telegram.chats[user.id], user)

    async def other_places(self) -> Mapping[str, Destination]:
        topic = Destination(
            surface="telegram", channel=str(self.group.id), thread=str(self.group.add_topic())
        )
        return {"topic": topic}

    async def restart(self, delays: Delays = PATIENT) -> None:
        await self._up.aclose()
        self._up.push_async_callback(self._load_balancer.stop)
        start = partial(
            run_surface,
            self.telegram,
            self._setup.database,
            self._mode,
            self._load_balancer.serve,
            delays=delays,
        )
        self.harness = await start_replicas(self._up, self._setup.replicas, start)

    def _set_target(self, url: str) -> None:
        self.telegram.webhook_target = url

    async def stop(self) -> None:
        await self._up.aclose()

    def rate_limit_next(self, calls: int) -> None:
        self.telegram.rate_limit_next = calls

    def count_rate_limited(self) -> int:
        return sum(status == 429 for _, _, status in self.telegram.log)

    def delay_next_edit(self) -> None:
        self.telegram.drop_next = frozenset({"editMessageText"})

    def delay_next_post(self) -> None:
        self.telegram.drop_next = frozenset({"sendMessage", "sendRichMessage"})

    async def carry_out_edit(self) -> None:
        await self.telegram.carry_out_dropped()

    carry_out_post = carry_out_edit

    def refuse_token(self, *, refused: bool) -> None:
        self.telegram.token = "another" if refused else self._token

    def delete_unnoticed(self, ask: Ask) -> None:
        number = message_id((ask.placement.message or {}).get("id"))
        assert number is not None
        del self.group.messages[number]

    def close_place_unnoticed(self, *, closed: bool) -> None:
        self.group.members[self.telegram.bot.id] = "kicked" if closed else "member"

    async def remove_bot(self) -> None:
        await self.telegram.change_membership(self.group, "kicked")

    async def add_bot(self) -> None:
        await self.telegram.change_membership(self.group, "member")

    async def restart_after_gap(self) -> None:
        await self.restart(HASTY)

    def payloads(self) -> list[JsonValue]:
        user, group = self.telegram.add_user("Eve"), self.group
        message = [m for m in group.messages.values() if m.sender.is_bot][-1].json()
        query = {"id": "1", "from": user.json(), "data": "ab1:ask_0:1:back", "message": message}
        said: dict[str, Any] = {
            "message_id": 1, "from": user.json(), "chat": group.json(), "date": 1, "text": "/inbox@no yes",
            "reply_to_message": message, "message_thread_id": 7, "is_topic_message": True,
        }  # fmt: skip
        member = {"user": self.telegram.bot.json(), "status": "member"}
        changed = {
            "chat": {"id": -5, "type": "group"},
            "from": user.json(),
            "date": 1,
            "new_chat_member": member,
        }
        moved = {
            "message_id": 2,
            "chat": {"id": -6, "type": "group"},
            "date": 1,
            "migrate_to_chat_id": -7,
        }
        bodies = [
            {"callback_query": query},
            {"message": said},
            {"my_chat_member": changed},
            {"message": moved},
        ]
        return copy.deepcopy([{"update_id": 1, **each} for each in bodies])

    async def send_payload(self, payload: JsonValue) -> None:
        assert isinstance(payload, dict)
        body = {key: value for key, value in payload.items() if key != "update_id"}
        number = await self.telegram.send_update(body, odd=True)
        await self.telegram.until(lambda: self.telegram.is_handled(number))


@asynccontextmanager
async def run_stage(setup: Setup, mode: Mode) -> AsyncIterator[TelegramStage]:
    """Run a fake Telegram with one service, or with several behind a load balancer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "GROUP_PER_MINUTE", 1_000_000)
        patch.setattr(limits, "PER_SECOND", 1_000_000)
        async with FakeTelegram() as telegram:
            stage = TelegramStage(telegram, setup, mode)
            try:
                await stage.restart()
                yield stage
            finally:
                await stage.stop()

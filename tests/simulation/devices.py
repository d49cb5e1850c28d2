"""Devices on which people are notified, and their push service: what it takes, what it refuses, and when it is over."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

from answerback_storage.personal_links_file import PersonalLinksFile
from tests.fakes.push_service import PushBrowser
from tests.fakes.receiver import Received
from tests.simulation.chat import PUBLIC_URL, Trouble
from tests.simulation.evidence import Evidence, Json, seconds_of
from tests.simulation.loop import SimulatedLoop
from tests.simulation.machine import EPOCH
from tests.unit.adapters.web.reader import Document

PORT: Final = 9_100
KIND: Final = "push fails"
_DEVICES: Final = (1, 1, 2)
"""The number of devices of a person who has any."""
_SUBSCRIBED: Final = 900.0
"""Seconds within which people subscribe their devices."""
_GIVEN_UP: Final = 0.15
"""The share of the devices that their person removes from the list, some time later."""
_FAILURES: Final = ("limit", "refuse", "hang", "lose", "lose", "gone")
_HANGS: Final = (30.0, 60.0)
"""The least and the most seconds for which a push service does not answer; the service waits for ten."""
_AFTER: Final = 10.0
"""Seconds for which an ask has to wait before anybody is notified: `push_after`."""
_SOON: Final = 60.0
"""Seconds within which a notification arrives, if nothing goes wrong, and after which none is on its way any more."""
_LATEST: Final = 2_100.0
"""Seconds within which it is tried again, whatever went wrong before."""


@dataclass
class Pushed:
    """A message that arrived at the push service."""

    at: float
    ask_id: str
    over: bool
    """True if it says that the ask does not wait any more."""
    taken: bool
    """True if the device shows it."""
    status: int
    """The answer; 0: there was none."""


@dataclass
class Device:
    """A browser that its person has subscribed."""

    name: str
    person: str
    """The id of its person in the chat."""
    browser: PushBrowser
    subscribed_at: float | None = None
    """When its person was told that it is subscribed."""
    removed_at: float | None = None
    """When its person was told that it is removed."""
    is_gone: bool = False
    """True once the push service does not know it any more."""
    pushed: list[Pushed] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        """True until it is gone or removed."""
        return not self.is_gone and self.removed_at is None

    def shows_waiting(self) -> set[str]:
        """Return the asks of which it shows that they wait."""
        taken = [each for each in self.pushed if each.taken]
        return {ask_id for ask_id, over in {p.ask_id: p.over for p in taken}.items() if not over}


class Devices:
    """See `tests.simulation.sides.Side`.

    Args:
        people: the ids of all people in the chat, by their names.
    """

    may_leave: Sequence[str] = ()
    kind = KIND

    def __init__(
        self,
        loop: SimulatedLoop,
        rng: random.Random,
        evidence: Evidence,
        people: Mapping[str, str],
    ) -> None:
        self.settings: Json = {"web": {"push": True, "push_allow": ["127.0.0.1"]}}
        self._loop = loop
        self._rng = rng
        self._evidence = evidence
        self._people = people
        self._keys: dict[str, str] = {}
        """The keys of personal links, by the names of their people."""
        self._devices: dict[str, Device] = {}
        self._failure: str | None = None
        self._failing_until = 0.0

    def account_of(self, name: str) -> str:
        return f"web:{name}"

    def prepare(self, database: Path) -> None:
        links = PersonalLinksFile(database)
        for name in self._people:
            self._keys[name] = str(links.add(name, EPOCH))

    async def start(self) -> None:
        for name, person in self._people.items():
            for number in range(self._rng.choice(_DEVICES)):
                device = f"{name}-{number}"
                browser = PushBrowser(
                    f"http://127.0.0.1:{PORT}/{device}",
                    ec.derive_private_key(self._rng.getrandbits(250) + 1, ec.SECP256R1()),
                    self._rng.randbytes(16),
                )
                self._devices[device] = Device(device, person, browser)
        self._evidence.devices = list(self._devices.values())
        app = web.Application()
        app.router.add_post("/{device}", self._take)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", PORT).start()

    def lives(self) -> Sequence[Coroutine[Any, Any, None]]:
        return [self._live(each) for each in self._devices.values()]

    # --- people ---

    async def _live(self, device: Device) -> None:
        await asyncio.sleep(self._rng.uniform(0, _SUBSCRIBED))
        await self._until_done(device, self._subscribe)
        if self._rng.random() < _GIVEN_UP:
            await asyncio.sleep(self._rng.uniform(60, 2_400))
            await self._until_done(device, self._remove)

    async def _until_done(self, device: Device, do: Any) -> None:
        async with aiohttp.ClientSession(PUBLIC_URL) as http:
            while True:
                with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                    async with asyncio.timeout(20):
                        if await do(http, device):
                            return
                await asyncio.sleep(self._rng.uniform(5, 60))

    async def _devices_page(self, http: aiohttp.ClientSession, device: Device) -> str | None:
        """Return the address of the page on which a person has devices; None if their key opens nothing now."""
        form = {"key": self._keys[device.name.rpartition("-")[0]]}
        async with http.post("/", data=form, allow_redirects=False) as response:
            if response.status != HTTPStatus.SEE_OTHER:
                return None
            return f"/{response.headers['Location']}/devices"

    async def _subscribe(self, http: aiohttp.ClientSession, device: Device) -> bool:
        page = await self._devices_page(http, device)
        if page is None:
            return False
        headers = {"User-Agent": device.name}
        async with http.post(page, data=device.browser.form, headers=headers) as response:
            if response.status != HTTPStatus.NO_CONTENT:
                return False
        self._loop.machine.note(f"{device.name} is subscribed")
        device.subscribed_at = self._loop.time()
        return True

    async def _remove(self, http: aiohttp.ClientSession, device: Device) -> bool:
        page = await self._devices_page(http, device)
        if page is None:
            return False
        async with http.get(page) as response:
            shown = Document(await response.text(), response.status)
        if shown.status != HTTPStatus.OK:
            return False
        names = [name for name in self._devices if name in shown.text]
        ids = dict(zip(sorted(names, key=shown.text.index), shown.values("id"), strict=True))
        if device.name in ids:
            form = {"do": "remove", "id": ids[device.name]}
            async with http.post(page, data=form, allow_redirects=False) as response:
                if response.status != HTTPStatus.SEE_OTHER:
                    return False
        self._loop.machine.note(f"{device.name} is removed")
        device.removed_at = self._loop.time()
        return True

    # --- the push service ---

    async def _take(self, request: web.Request) -> web.Response:
        device = self._devices[request.match_info["device"]]
        message = device.browser.read(Received(request.headers, await request.read()))
        failure = self._failure if self._loop.time() < self._failing_until else None
        pushed = Pushed(
            self._loop.time(), message["ask"], "over" in message, taken=False, status=201
        )
        device.pushed.append(pushed)
        if device.is_gone or failure == "gone":
            device.is_gone, pushed.status = True, 410
            self._failing_until = 0.0  # this one has gone, and no other
        elif failure == "limit":
            pushed.status = 429
        elif failure == "refuse":
            pushed.status = 503
        elif failure in {"hang", "lose"}:
            pushed.status = 0
        pushed.taken = pushed.status == 201 or failure == "lose"
        what = "over" if pushed.over else "waiting"
        self._loop.machine.note(f"{device.name} is told {what} {pushed.ask_id}: {pushed.status}")
        if failure == "hang":
            await asyncio.sleep(self._rng.uniform(*_HANGS))
        if failure == "lose" and request.transport is not None:
            request.transport.close()
        if not pushed.status:
            return web.Response(status=500)  # nobody reads it any more
        headers = {"Retry-After": "20"} if failure == "limit" else {}
        return web.Response(status=pushed.status, headers=headers)

    def go_wrong(self, rng: random.Random, trouble: Trouble) -> None:
        self._failure = rng.choice(_FAILURES)
        seconds = rng.choice([10.0, 120.0, 600.0])
        self._failing_until = self._loop.time() + seconds
        trouble.until(seconds)

    def stop_faults(self) -> None:
        self._failing_until = 0.0

    def has_come_to_rest(self) -> bool:
        ended = {*self._evidence.ended} - self._evidence.erasures
        there = [each for each in self._evidence.devices if each.is_there]
        return not any(ended & each.shows_waiting() for each in there)


def count_judged(evidence: Evidence) -> int:
    """Return the number of messages that arrived at push services."""
    return sum(len(each.pushed) for each in evidence.devices)


def _pushes(evidence: Evidence) -> Iterator[str]:
    """PUSH: people are notified of what waits for them, on each of their devices, and of nothing else."""
    for device in evidence.devices:
        yield from _gone(evidence, device)
        for key, ask_id in evidence.by_plan():
            stored = evidence.asks.get(ask_id)
            if stored is None:
                continue
            about = [each for each in device.pushed if each.ask_id == ask_id]
            yield from _told(evidence, key, stored, device, about)
            yield from _reached(evidence, key, stored, device, about)


def _gone(evidence: Evidence, device: Device) -> Iterator[str]:
    """Judge that a device gets nothing more once the service has been told that it is gone: PUSH-8, PUSH-2."""
    refused_at = [each.at for each in device.pushed if each.status == HTTPStatus.GONE]
    for before, after in pairwise(refused_at):
        if after > before + _SOON and evidence.was_quiet(before - _SOON, before + _SOON):
            yield f"PUSH: {device.name} was told something after it had gone"
    removed_at = device.removed_at
    if removed_at is not None and any(each.at > removed_at + _SOON for each in device.pushed):
        yield f"PUSH: {device.name} was told something after it had been removed"


def _told(
    evidence: Evidence, key: str, stored: Json, device: Device, about: Sequence[Pushed]
) -> Iterator[str]:
    """Judge what a device was told of an ask: PUSH-4, PUSH-5, PUSH-6, PUSH-7."""
    late, created_at = evidence.tolerance, seconds_of(stored["created_at"])
    ended_at = _ended_at(evidence, stored)
    waiting = [each for each in about if not each.over]
    handed = evidence.handed.get(stored["id"], {})
    if waiting and not (device.person in evidence.plans[key].responders or device.person in handed):
        yield f"PUSH: {device.name} was told of {key}, which does not wait for its person"
    for each in waiting:
        if each.at < created_at + _AFTER - late:
            yield f"PUSH: {device.name} was told of {key} at once"
        if ended_at is not None and each.at > ended_at + _SOON + late:
            yield f"PUSH: {device.name} was told that {key} waits, after it had ended"
    last = created_at if ended_at is None else ended_at
    record = evidence.records.get(stored["id"], ())
    once = 1 + sum(line["type"] == "handed_over" for line in record)
    is_quiet = evidence.was_quiet(created_at - _SOON - late, last + _SOON + late)
    if is_quiet and not evidence.plans[key].due and len(waiting) > once:
        yield f"PUSH: {device.name} was told {len(waiting)} times that {key} waits"
    has_ended = ended_at is not None and stored["erased_at"] is None
    if device.is_there and has_ended and stored["id"] in device.shows_waiting():
        yield f"PUSH: {device.name} shows in the end that {key} waits"


def _ended_at(evidence: Evidence, stored: Json) -> float | None:
    ends = [line for line in evidence.records.get(stored["id"], ()) if line["type"] == "ended"]
    return seconds_of(ends[-1]["at"]) if ends else None


def _reached(
    evidence: Evidence, key: str, stored: Json, device: Device, about: Sequence[Pushed]
) -> Iterator[str]:
    """Judge that whoever has to decide was notified, if there was time: PUSH-5, PUSH-7."""
    person, subscribed_at = device.person, device.subscribed_at
    if person not in evidence.plans[key].responders or subscribed_at is None:
        return
    if not device.is_there or any(
        evidence.who(a.person) == person for a in evidence.attempts if a.ask_id == stored["id"]
    ):
        return  # it does not work any more, or they know
    begun = seconds_of(stored["created_at"])
    ended_at = _ended_at(evidence, stored)
    if begun < subscribed_at + evidence.tolerance or ended_at is None:
        return
    by = evidence.quiet_from(begun, _AFTER + _SOON, _LATEST) + evidence.tolerance
    if by >= ended_at or any(each.taken and each.at <= by for each in about):
        return
    yield f"PUSH: {device.name} was not told that {key} waits"


CHECKS: Final = (_pushes,)

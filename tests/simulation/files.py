"""Pictures that agents and people send: what must become of each, and what does, judged by their bytes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp

from answerback_agents.pipe.saved_files import DAYS, fetch_and_save
from answerback_client.async_client import AsyncClient
from tests.simulation.chat import Chat
from tests.simulation.evidence import Evidence, Json, Plan, Read, seconds_of
from tests.simulation.loop import SimulatedLoop
from tests.simulation.service import API_URL, OTHER_TOKEN, TOKEN

_SHOWN: Final = 0.3
"""The share of the asks that come with pictures."""
_SENT: Final = (0.1, 0.4, 0.9)
"""The shares of the texts of people that do."""
_PLACE: Final = b"Comment\0taken at 52.5 N 13.4 E"
"""The comment that a camera writes into a picture, which only its owner may read."""
_PAUSE: Final = 150.0
"""Seconds between two looks at files that may not be read, on average."""
_RECENT: Final = 3
_KEPT: Final = "10000"
"""Days for which agents keep files: the real disk's dates are not the simulation's."""


def picture(name: str, *, place: bool = False) -> bytes:
    """Draw the picture of a name, which no other name has.

    Args:
        place: whether its camera has written into it where it was taken.
    """
    row = b"\0" + hashlib.sha256(name.encode()).digest()[:30]
    header = struct.pack(">IIBBBBB", 10, 1, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(row)), (b"IEND", b"")]
    if place:
        chunks.insert(1, (b"tEXt", _PLACE))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def digest_of(name: str) -> str:
    """Return the digest of the bytes that everybody must read of a picture."""
    return hashlib.sha256(picture(name)).hexdigest()


def attach_to(plans: Sequence[Plan], rng: random.Random) -> None:
    """Let some asks come with pictures."""
    for plan in plans:
        if rng.random() < _SHOWN:
            count = rng.choice([1, 1, 2])
            plan.pictures = tuple(f"{plan.key}-{number}.png" for number in range(count))


class Camera:
    """Takes the pictures that people send."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._share = rng.choice(_SENT)
        self._taken = 0

    def take(self) -> tuple[str, ...]:
        """Take the pictures for a text, as a rule none; return their names."""
        if self._rng.random() >= self._share:
            return ()
        first, self._taken = self._taken, self._taken + self._rng.choice([1, 1, 2])
        return tuple(f"photo-{number}.png" for number in range(first, self._taken))


def keep_below(folder: Path) -> None:
    """Let agents save what people send in a folder of the simulation."""
    os.environ |= {"XDG_STATE_HOME": str(folder), DAYS: _KEPT}


async def upload(client: AsyncClient, plan: Plan) -> Json:
    """Upload the pictures of an ask; return its body, which names them."""
    files = [await client.upload(picture(name), name=name, alt=name) for name in plan.pictures]
    return {**plan.body, "files": files} if files else plan.body


async def fetch(client: AsyncClient, evidence: Evidence, key: str, ask: Json) -> None:
    """Save what people sent, as hooks and proxies do for their models; what is not saved in time is fetched."""
    # Hooks go on without what does not arrive in time, and name it: this agent fetches it then.
    for saved in await fetch_and_save(ask["answer_files"], key, client.file):
        if (path := saved.get("path")) is not None:
            data = await asyncio.to_thread(Path(path).read_bytes)
        else:
            data = await client.file(saved["id"])
        evidence.fetched += 1
        if hashlib.sha256(data).hexdigest() != digest_of(saved["name"]):
            evidence.broken.append(f"FILES: an agent read something else as {saved['name']}")


class Spies:
    """Two agents that try to read what people sent: the one that asked, perhaps too early, and one that never may."""

    def __init__(self, loop: SimulatedLoop, rng: random.Random, evidence: Evidence) -> None:
        self._loop = loop
        self._rng = rng
        self._evidence = evidence

    async def live(self) -> None:
        async with aiohttp.ClientSession(API_URL) as http:
            while True:
                await asyncio.sleep(self._rng.expovariate(1 / _PAUSE))
                recent = list(self._evidence.known_files)[-_RECENT:]
                if recent:
                    await self._look(http, self._rng.choice(recent))

    async def _look(self, http: aiohttp.ClientSession, file_id: str) -> None:
        for token in (TOKEN, OTHER_TOKEN):
            began = self._loop.time()
            try:
                data = await _get(http, file_id, token)
            except (aiohttp.ClientError, OSError):
                continue
            self._loop.machine.note(f"{token} {'reads' if data else 'does not read'} {file_id}")
            if data is not None:
                read = Read(file_id, token, began, self._loop.time())
                self._evidence.reads.append(read)


async def _get(http: aiohttp.ClientSession, file_id: str, token: str) -> bytes | None:
    """Return a file, or None if it is not shown."""
    headers = {"Authorization": f"Bearer {token}"}
    async with http.get(f"/v1/files/{file_id}", headers=headers) as response:
        data = await response.read()
        return data if response.status == HTTPStatus.OK else None


async def look_at_the_end(evidence: Evidence, chat: Chat, front_token: str) -> None:
    """Read every file that anybody was ever told of, and see which pictures the chat has of each ask."""
    ids = dict.fromkeys(evidence.known_files)
    for ask in _asks_seen(evidence):
        ids |= dict.fromkeys(each["id"] for each in (*ask["files"], *ask["answer_files"]))
    async with aiohttp.ClientSession(API_URL) as http:
        for file_id in ids:
            data = await _get(http, file_id, front_token)
            if data is not None:
                evidence.file_digests[file_id] = hashlib.sha256(data).hexdigest()
    evidence.kept_pictures = _digests(chat.kept_pictures())
    for ask_id, messages in evidence.messages.items():
        for shown in (chat.pictures(message) for message in messages):
            if shown is not None:
                evidence.shown_pictures = evidence.shown_pictures or {}
                evidence.shown_pictures.setdefault(ask_id, []).extend(_digests(shown))


def _digests(pictures: Iterable[bytes]) -> list[str]:
    return [hashlib.sha256(each).hexdigest() for each in pictures]


def _asks_seen(evidence: Evidence) -> Iterator[Json]:
    yield from evidence.asks.values()
    for reports in evidence.reports.values():
        yield from (report.ask for report in reports)


def count_judged(evidence: Evidence) -> int:
    """Return the number of files that were judged."""
    return len(evidence.file_digests) + evidence.fetched


def _files(evidence: Evidence) -> Iterator[str]:
    """FILES: everybody sees and reads the files that were sent, whole, and nobody those of others or too early."""
    claimed: dict[str, str] = {}
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None:
            continue
        if stored["erased_at"] is not None:
            yield from _erased(evidence, key, ask_id)
            continue
        yield from _of_agent(evidence, key, stored)
        yield from _of_people(evidence, key, stored)
        for file in stored["answer_files"]:
            if claimed.setdefault(file["name"], key) != key:
                yield f"FILES: {file['name']} stands in {key} and in {claimed[file['name']]}"
    yield from _read_by_spies(evidence)


def _erased(evidence: Evidence, key: str, ask_id: str) -> Iterator[str]:
    reports = (report.ask for report in evidence.reports.get(key, ()))
    for file in (file for ask in reports for file in (*ask["files"], *ask["answer_files"])):
        if file["id"] in evidence.file_digests:
            yield f"ERASE: {key} was erased, and {file['name']} can still be read"
    if evidence.is_calm:  # what a chat does not delete is logged, and stays: FILE-11
        for name in evidence.plans[key].pictures:
            if digest_of(name) in evidence.kept_pictures:
                yield f"ERASE: {key} was erased, and the chat still has {name}"


def _of_agent(evidence: Evidence, key: str, stored: Json) -> Iterator[str]:
    wanted = evidence.plans[key].pictures
    if tuple(file["name"] for file in stored["files"]) != wanted:
        yield f"FILES: {key} has other files than its agent named"
    yield from _whole(evidence, key, stored["files"])
    if evidence.shown_pictures is None:
        return
    messages = evidence.messages.get(stored["id"], ())
    shown = evidence.shown_pictures.get(stored["id"], [])
    wanted_digests = {digest_of(name): name for name in wanted}
    if len(set(shown)) < len(shown):
        yield f"FILES: {key} shows a picture twice"
    if not set(shown) <= set(wanted_digests):
        yield f"FILES: {key} shows a picture that is not its own"
    for message in messages:
        for digest, name in wanted_digests.items():
            if digest not in shown and name not in message.text:
                yield f"FILES: {key} neither shows nor names {name}"


def _of_people(evidence: Evidence, key: str, stored: Json) -> Iterator[str]:
    yield from _whole(evidence, key, stored["answer_files"])
    tried = [each for each in evidence.attempts if each.ask_id == stored["id"]]
    by_file = {name: each for each in tried for name in each.files}
    for file in stored["answer_files"]:
        attempt = by_file.get(file["name"])
        if attempt is None or file["by"] is None or attempt.person != file["by"]["user_id"]:
            yield f"FILES: {key} has {file['name']}, which its sender did not send"
    for line in evidence.records.get(stored["id"], ()):
        text, names = _said_with(line)
        # Who submits twice at once says the same, perhaps with different files.
        said = [attempt.files for attempt in tried if attempt.text and attempt.text == text]
        if said and names not in said:
            yield f"FILES: {key} has {names} with {text!r}, and not {said}"


def _said_with(line: Json) -> tuple[str | None, tuple[str, ...]]:
    """Return the text of a line of the record, and the names of the files that came with it."""
    body = (line.get("response") or {}).get("answered")
    text = None if body is None else body["value"]
    if body is None and line["type"] == "ended":
        body = line["ended"]
        text = body.get("reply")
    names = tuple(file["name"] for file in (body or {}).get("files", ()))
    return (text if isinstance(text, str) else None), names


def _whole(evidence: Evidence, key: str, files: list[Json]) -> Iterator[str]:
    for file in files:
        if evidence.file_digests.get(file["id"]) != digest_of(file["name"]):
            yield f"FILES: {file['name']} of {key} cannot be read as it was sent"


def _read_by_spies(evidence: Evidence) -> Iterator[str]:
    sent = {file_id: found for found in _sent(evidence) for file_id in found[2]}
    for read in evidence.reads:
        if read.token == OTHER_TOKEN:
            yield f"FILES: an agent read {read.file_id} of another agent's ask"
        elif read.file_id not in sent:
            continue  # its ask was erased since
        else:
            key, readable_at, _ = sent[read.file_id]
            if readable_at is None or readable_at > read.ended + evidence.tolerance:
                yield f"FILES: an agent read a file of {key} before it might read the answer"


def _sent(evidence: Evidence) -> Iterator[tuple[str, float | None, list[str]]]:
    """Yield what people sent: the key of the ask, since when its agent may read it, and the ids of the files."""
    for key, ask_id in evidence.by_plan():
        stored, record = evidence.asks.get(ask_id), evidence.records.get(ask_id, [])
        ends = [seconds_of(line["at"]) for line in record if line["type"] == "ended"]
        confirmed_at = ends[0] if stored and ends and stored["status"] == "answered" else None
        for line in record:
            body = (line.get("response") or {}).get("answered") or {}
            due = evidence.plans[key].due > 0
            readable_at = confirmed_at if due else seconds_of(line["at"])
            yield key, readable_at, [file["id"] for file in body.get("files", ())]


CHECKS: Final = (_files,)

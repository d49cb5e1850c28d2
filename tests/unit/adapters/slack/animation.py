"""The animated picture of the README: the fake Slack's own page while a form is answered in a thread.

`python -m tests.unit.adapters.slack.animation` records it again, as an animated PNG.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from playwright.async_api import Page, async_playwright

from answerback.core.ask import Ask
from answerback.dialects.registry import render_result
from tests import drawn_pictures
from tests.chromium import ARGUMENTS, find_chromium
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.pictures import FOLDER
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig

QUESTIONS = (
    {
        "id": "apply",
        "text": "Apply the migration to production?",
        "context": "It adds two columns to orders and rewrites one index: about two minutes.",
        "answer_type": "boolean",
    },
    {
        "id": "when",
        "text": "When?",
        "answer_type": "select",
        "options": ["now", "tonight", "tomorrow"],
        "when": {"question_id": "apply", "equals": True},
    },
    {
        "id": "note",
        "text": "Anything for the migration log?",
        "answer_type": "text",
        "when": {"question_id": "apply", "equals": True},
    },
)
AGENT = """text => {
  const panel = document.createElement('pre');
  panel.textContent = text;
  panel.style.cssText = 'position:fixed;left:0;right:0;bottom:0;height:62px;margin:0;padding:12px 20px;'
    + 'border:0;border-radius:0;background:#1e1e2e;color:#cdd6f4;font:13px/1.5 monospace';
  document.body.append(panel);
}"""
"""Shows, below the thread, what the agent sees."""

POINTER = """button => {
  const box = button.getBoundingClientRect();
  button.style.boxShadow = '0 0 0 3px #1d9bd155';
  const hand = document.createElement('div');
  hand.innerHTML = '<svg width="22" height="26" viewBox="0 0 22 26"><path d="M2 1v20l5-5 3 8 4-2-3-7h7z"'
    + ' fill="#000" stroke="#fff" stroke-width="1.5"/></svg>';
  hand.style.cssText = `position:fixed;left:${box.left + box.width / 2}px;top:${box.top + box.height / 2}px`;
  document.body.append(hand);
}"""
"""Puts a mouse pointer on a button."""


class Film:
    """The frames taken so far, each with the seconds for which it is shown."""

    def __init__(self, page: Page, address: str) -> None:
        self.frames: list[tuple[bytes, float]] = []
        self._page, self._address = page, address

    async def frame(self, seconds: float, agent: str, press: str | None = None) -> None:
        """One frame of the thread: what the agent sees below it, and a pointer on a button of that name."""
        await self._page.goto(self._address)
        await self._page.evaluate(AGENT, agent)
        if press:
            button = self._page.get_by_role("button", name=press, exact=True)
            await button.evaluate(POINTER)
        self.frames.append((await self._page.screenshot(), seconds))


async def take(up: Rig, page: Page) -> list[tuple[bytes, float]]:
    """Answer the form, frame by frame."""
    first = await up.ada.post(CHANNEL, "The orders migration is reviewed. Ship it when you can.")
    film = Film(page, f"{up.slack.url}t/{CHANNEL}/{first.ts}")
    await film.frame(1.2, "agent> ask_user(questions=[apply, when, note])")
    waiting = "agent> ask_user(questions=[apply, when, note])\n       waiting for a person ..."
    plot = {
        "name": "load.png",
        "media_type": "image/png",
        "data": base64.b64encode(drawn_pictures.plot()).decode(),
        "alt": "The load of a copy of production: before (blue), and while it ran (red)",
    }
    ask = await up.submit(*QUESTIONS, to=f"slack:{CHANNEL}/{first.ts}", files=[plot])

    async def click(name: str) -> Ask:
        await film.frame(1.6, waiting)
        await film.frame(0.7, waiting, press=name)
        await up.ada.click(live(), name)
        return await up.shown(ask)

    def live() -> Message:
        return up.live(ask)

    ask = await click(LABELS.yes)
    ask = await click("tonight")
    await film.frame(1.6, waiting)
    up.slack.clock.advance(2)
    said = await up.ada.mention_bot(CHANNEL, "After the nightly backup.", thread=first.ts)
    await up.wait_until_marked(said)
    ask = await up.shown(ask)
    result = render_result(ask)
    assert result is not None
    await film.frame(
        4.5, f"agent> ask_user(questions=[apply, when, note])\n       {result.content}"
    )
    return film.frames


def animated(frames: list[tuple[bytes, float]]) -> bytes:
    """PNG pictures of one size as one animated PNG that repeats (https://www.w3.org/TR/png-3/#apng-frame-based-animation)."""
    first = dict(_chunks(frames[0][0]))
    width, height = struct.unpack(">II", first[b"IHDR"][:8])
    parts = [
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", first[b"IHDR"]),
        _chunk(b"acTL", struct.pack(">II", len(frames), 0)),
    ]
    number = 0
    for picture, seconds in frames:
        control = (number, width, height, 0, 0, round(seconds * 1000), 1000, 0, 0)
        parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", *control)))
        number += 1
        data = b"".join(part for kind, part in _chunks(picture) if kind == b"IDAT")
        if len(parts) == 4:
            parts.append(_chunk(b"IDAT", data))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        yield picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


async def main() -> None:
    """Record the frames in a browser, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        async with rig(Path(folder)) as up, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=ARGUMENTS
            )
            page = await browser.new_page(viewport={"width": 720, "height": 740})
            frames = await take(up, page)
            await browser.close()
    (FOLDER / "answering.png").write_bytes(animated(frames))


if __name__ == "__main__":
    asyncio.run(main())

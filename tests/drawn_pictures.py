"""Pictures as agents send them, drawn pixel by pixel: a plot, and two layouts of a page."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable
from functools import cache

Rgb = tuple[int, int, int]
WHITE, INK, GREY, PALE, BLUE, RED = (
    (255, 255, 255), (40, 44, 52), (200, 204, 212), (240, 242, 246), (37, 99, 235), (220, 38, 38),
)  # fmt: skip


def _png(width: int, height: int, color: Callable[[int, int], Rgb]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(
        b"\0" + b"".join(bytes(color(x, y)) for x in range(width)) for y in range(height)
    )
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


@cache
def plot() -> bytes:
    """Return a plot of two curves, one of which rises at its end."""

    def color(x: int, y: int) -> Rgb:
        if x < 41 or y > 299:
            return INK if (x == 40 and y < 300) or (y == 300 and x >= 40) else WHITE
        before = 220 + 14 * math.sin(x / 35)
        after = 200 + 10 * math.sin(x / 28) - max(0, x - 380) ** 2 / 260
        if abs(y - after) < 2.2:
            return RED
        if abs(y - before) < 2.2:
            return BLUE
        return GREY if y % 60 == 0 else WHITE

    return _png(640, 320, color)


@cache
def layout(*, side: bool) -> bytes:
    """Return a page with its menu at the side, or on top."""

    def color(x: int, y: int) -> Rgb:
        if (side and x < 90) or (not side and y < 40):
            is_item = (
                (y % 36 in range(14, 22) and 14 < x < 76)
                if side
                else (x % 90 in range(20, 70) and 16 < y < 24)
            )
            return GREY if is_item else INK
        is_button = 300 < x < 370 and 175 < y < 200
        is_line = x > 115 and y > 60 and y % 24 < 8 and x < 370 and y < 160
        return BLUE if is_button else GREY if is_line else PALE

    return _png(400, 220, color)


def sent(name: str, data: bytes, alt: str) -> dict[str, str]:
    """Return a file as it stands in a submission."""
    return {"name": name, "data": base64.b64encode(data).decode(), "alt": alt}

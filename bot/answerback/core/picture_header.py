"""Tell from a file's first bytes if it is a picture, and its size. Nothing is decoded. Pure.

Layouts: PNG https://www.w3.org/TR/png-3/#11IHDR, JPEG https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.2.2),
GIF https://www.w3.org/Graphics/GIF/spec-gif89a.txt (18), WebP https://www.rfc-editor.org/rfc/rfc9649#section-2.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

_PNG: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_NO_SIZE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG markers without a length: TEM and RST."""
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of frames, which have the size: SOF, without DHT, JPG and DAC."""
_END: Final = frozenset({0xD9, 0xDA})
"""JPEG markers behind which no frame begins: EOI and SOS."""


class Picture(NamedTuple):
    """A picture's type, and its size in pixels."""

    media_type: str
    width: int
    height: int


def read_picture(start: bytes) -> Picture | None:
    """Return what the first bytes of a file say; None: it is no picture that is shown.

    A JPEG whose size stands behind these bytes counts as none.
    """
    for media_type, read in _READERS.items():
        size = read(start)
        if size is not None and all(size):
            return Picture(media_type, *size)
    return None


def _png(start: bytes) -> tuple[int, int] | None:
    if not start.startswith(_PNG) or len(start) < 24:
        return None
    width, height = struct.unpack_from(">II", start, 16)
    return width, height


def _gif(start: bytes) -> tuple[int, int] | None:
    if start[:6] not in {b"GIF87a", b"GIF89a"} or len(start) < 10:
        return None
    width, height = struct.unpack_from("<HH", start, 6)
    return width, height


def _jpeg(start: bytes) -> tuple[int, int] | None:
    if not start.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 <= len(start) and start[at] == 0xFF:
        marker = start[at + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            at += 1
        elif marker in _NO_SIZE:
            at += 2
        elif marker in _END:
            return None
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", start, at + 5)
            return width, height
        else:
            at += 2 + int.from_bytes(start[at + 2 : at + 4], "big")
    return None


def _webp(start: bytes) -> tuple[int, int] | None:
    if start[:4] != b"RIFF" or start[8:12] != b"WEBP" or len(start) < 30:
        return None
    match start[12:16]:
        case b"VP8 " if start[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack_from("<HH", start, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if start[20] == 0x2F:
            bits = int.from_bytes(start[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = (int.from_bytes(start[at : at + 3], "little") for at in (24, 27))
            return width + 1, height + 1
        case _:
            return None


_READERS: Final = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
PICTURE_TYPES: Final = frozenset(_READERS)

"""Remove from a picture what its device has written into it: the place, the device, times, comments, and other files.

Only what is needed to draw it stays: of a JPEG's Exif data, the way in which it is turned. Nothing is decoded. Pure.

Layouts: JPEG https://www.w3.org/Graphics/JPEG/itu-t81.pdf (B.1), PNG https://www.w3.org/TR/png-3/#5DataRep,
GIF https://www.w3.org/Graphics/GIF/spec-gif89a.txt, WebP https://www.rfc-editor.org/rfc/rfc9649#section-2,
Exif https://www.cipa.jp/std/documents/e/DC-X008-Translation-2019-E.pdf (4.6).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final

_APP: Final = range(0xE0, 0xF0)
_COMMENT: Final = 0xFE
_ICC, _EXIF, _JFIF, _ADOBE = b"ICC_PROFILE\0", b"Exif\0\0", b"JFIF\0", b"Adobe"
_DRAWN_APPS: Final = {_JFIF: 14, _ADOBE: 12}
"""The application segments of a JPEG that decide how it is drawn, by their first bytes: density and color transform,
and how many bytes say that (https://www.w3.org/Graphics/JPEG/jfif3.pdf). A color profile may have any number."""
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_NEXT_MARKER: Final = re.compile(rb"\xff+[^\x00\xff\xd0-\xd7]")
"""The end of the data of a scan: any marker but a restart. A zero behind 0xFF says that it is data."""
_ORIENTATION: Final = 0x0112
_TURNED: Final = range(2, 9)
"""The orientations other than the usual one."""
_PNG_START: Final = b"\x89PNG\r\n\x1a\n"
_PNG_CHUNKS: Final = frozenset(
    {
        *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT"),
        *(b"bKGD", b"pHYs", b"cICP", b"mDCV", b"cLLI", b"acTL", b"fcTL", b"fdAT"),
    }
)
"""The chunks that decide how a PNG is drawn."""
_WEBP_CHUNKS: Final = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_WEBP_METADATA: Final = 0x08 | 0x04
"""The flags of a VP8X chunk that announce Exif and XMP data."""
_GIF_DRAWN: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
"""The application extensions of a GIF that decide how it is drawn: how often it repeats."""


def remove_metadata(media_type: str, data: bytes) -> bytes:
    """Return a picture without its metadata.

    Raises:
        ValueError: it is damaged, so that nobody can tell where its metadata is.
    """
    try:
        return b"".join(_READERS[media_type](data))
    except (struct.error, IndexError) as error:
        raise ValueError("the picture ends early") from error


def _jpeg(data: bytes) -> Iterator[bytes]:
    yield data[:2]
    at = 2
    while True:
        if data[at] != 0xFF:
            raise ValueError("no marker where one has to be")
        marker = data[at + 1]
        if marker == 0xFF:  # fill bytes may precede a marker
            at += 1
            continue
        if marker == _END_OF_IMAGE:
            yield data[at : at + 2]
            return  # what follows is no part of the picture: a phone may put a video there
        (length,) = struct.unpack_from(">H", data, at + 2)
        end = at + 2 + length
        if length < 2 or end > len(data):
            raise ValueError("a segment ends outside the picture")
        body = data[at + 4 : end]
        if marker in _APP:
            yield _jpeg_app(data[at:end], body)
        elif marker != _COMMENT:
            yield data[at:end]
        at = end
        if marker == _START_OF_SCAN:
            found = _NEXT_MARKER.search(data, at)
            if found is None:  # it was cut off; what is there is drawn
                yield data[at:]
                return
            yield data[at : found.start()]
            at = found.start()


def _jpeg_app(segment: bytes, body: bytes) -> bytes:
    """Return what stays of an application segment."""
    if body.startswith(_ICC):
        return segment
    for start, length in _DRAWN_APPS.items():
        if body.startswith(start) and len(body) >= length:
            # A JFIF header ends with the size of a thumbnail, which would show what has been cropped since.
            kept = body[: length - 2] + b"\0\0" if start == _JFIF else body[:length]
            return segment[:2] + struct.pack(">H", length + 2) + kept
    turned = _orientation(body[len(_EXIF) :]) if body.startswith(_EXIF) else None
    if turned is None:
        return b""
    # A header, and a directory with this one entry: see 4.6.2 and 4.6.4 of Exif.
    kept = _EXIF + struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, _ORIENTATION, 3, 1, turned, 0, 0)
    return struct.pack(">BBH", 0xFF, 0xE1, len(kept) + 2) + kept


def _orientation(tiff: bytes) -> int | None:
    """Return how Exif data says that the picture is turned; None if it is not, or if the data is damaged."""
    order = {b"MM": ">", b"II": "<"}.get(tiff[:2])
    try:
        if order is None:
            return None
        (first,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, first)
        for n in range(count):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, first + 2 + 12 * n)
            if tag == _ORIENTATION:
                return value if kind == 3 and value in _TURNED else None
    except struct.error:
        return None
    return None


def _png(data: bytes) -> Iterator[bytes]:
    yield _PNG_START
    at = len(_PNG_START)
    name = b""
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            raise ValueError("a chunk ends outside the picture")
        if name in _PNG_CHUNKS:
            yield data[at:end]
        at = end


def _gif(data: bytes) -> Iterator[bytes]:
    at = 13 + _color_table(data[10])
    yield data[:at]
    while True:
        start, kind = at, data[at]
        if kind == 0x3B:
            yield data[at : at + 1]
            return
        if kind == 0x2C:
            at += 10 + _color_table(data[at + 9]) + 1  # and the smallest code
            is_drawn = True
        elif kind == 0x21:
            is_drawn = data[at + 1] == 0xF9 or (
                data[at + 1] == 0xFF and data[at + 3 : at + 14] in _GIF_DRAWN
            )
            at += 2
        else:
            raise ValueError("no block where one has to be")
        while length := data[at]:
            at += 1 + length
        at += 1
        if is_drawn:
            yield data[start:at]


def _color_table(flags: int) -> int:
    """Return the bytes of the color table that the flags announce."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _webp(data: bytes) -> Iterator[bytes]:
    (size,) = struct.unpack_from("<I", data, 4)
    kept, at = [b"WEBP"], 12
    while at < min(8 + size, len(data)):
        name, length = struct.unpack_from("<4sI", data, at)
        end = at + 8 + length + length % 2
        if end > len(data) + 1:
            raise ValueError("a chunk ends outside the picture")
        if name == b"VP8X":
            flags = data[at + 8] & ~_WEBP_METADATA
            kept.append(data[at : at + 8] + bytes([flags]) + data[at + 9 : end])
        elif name in _WEBP_CHUNKS:
            kept.append(data[at:end])
        at = end
    body = b"".join(kept)
    yield b"RIFF" + struct.pack("<I", len(body)) + body


_READERS: Final[Mapping[str, Callable[[bytes], Iterator[bytes]]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/gif": _gif,
    "image/webp": _webp,
}

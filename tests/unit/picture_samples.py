"""Pictures of one pixel, by hand, and headers that claim more."""

from __future__ import annotations

import struct
import zlib


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 1, height: int = 1, rgb: bytes = b"\xff\0\0") -> bytes:
    """Return a picture of one colour."""
    rows = (b"\0" + rgb * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (
        _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""),
    )  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_header(width: int, height: int) -> bytes:
    """Return a picture whose header claims a size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)


def jpeg(width: int = 1, height: int = 1, before: bytes = b"") -> bytes:
    frame = b"\xff\xc0\0\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\x01\x11\0" * 3
    return b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0" + before + frame + b"\xff\xd9"


def gif(width: int = 1, height: int = 1) -> bytes:
    size = struct.pack("<HH", width, height)
    return b"GIF89a" + size + b"\x80\0\0\xff\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"


def webp(width: int = 1, height: int = 1) -> bytes:
    sizes = b"".join((each - 1).to_bytes(3, "little") for each in (width, height))
    body = b"WEBPVP8X\x0a\0\0\0\0\0\0\0" + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body


PNG, JPEG, GIF, WEBP = png(), jpeg(), gif(), webp()
PNG_SIZE = png_header
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HUGE = (jpeg(60_000, 60_000), gif(60_000, 60_000), webp(1 << 24, 1 << 24), png_header(1 << 31, 1))

"""Nothing of what a device writes into a picture stays, but how it is turned; and the picture stays as it was."""

from __future__ import annotations

import struct
import zlib

import pytest

from answerback.core.picture_header import read_picture
from answerback.core.picture_metadata import remove_metadata
from tests.unit.picture_samples import GIF, JPEG, PNG, WEBP, gif, jpeg, png

pytestmark = pytest.mark.rule("FILE-15")
SECRET = b"N 52.5200 E 13.4050 Phone of Ada"


def exif(orientation: int | None = None, order: str = ">") -> bytes:
    """Return Exif data with a device's name and, perhaps, how the picture is turned."""
    entries = [struct.pack(f"{order}HHII", 0x010F, 2, len(SECRET), 64)]
    if orientation is not None:
        entries.append(struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0))
    start = (b"MM" if order == ">" else b"II") + struct.pack(f"{order}HIH", 42, 8, len(entries))
    return b"Exif\0\0" + (start + b"".join(entries) + b"\0\0\0\0").ljust(64, b"\0") + SECRET


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


SCAN = segment(0xDA, b"\x01\x01\0\0\x3f\0") + b"\x12\xff\0\x34\xff\xd0\x56\xff\xd9"
PHOTO = JPEG[:-2] + SCAN
ADOBE = b"Adobe\0\x64\0\0\0\0\x01"


@pytest.mark.parametrize(
    "hidden",
    [
        segment(0xE1, exif()),
        segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + SECRET),
        segment(0xED, b"Photoshop 3.0\0" + SECRET),
        segment(0xE2, b"MPF\0" + SECRET),
        segment(0xFE, SECRET),
        segment(0xE1, b"Exif\0\0MM\0\x2a\xff\xff\xff\xff" + SECRET),
        b"\xff" + segment(0xE1, exif()),
    ],
)
def test_a_photo_tells_neither_place_nor_device(hidden: bytes) -> None:
    cleared = remove_metadata("image/jpeg", jpeg(before=hidden)[:-2] + SCAN)
    assert cleared == PHOTO


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("orientation", range(10))
def test_a_photo_stays_turned_as_it_was(orientation: int, order: str) -> None:
    cleared = remove_metadata("image/jpeg", jpeg(before=segment(0xE1, exif(orientation, order))))
    assert SECRET not in cleared
    is_turned = orientation in range(2, 9)
    assert (b"Exif" in cleared) == is_turned
    if is_turned:
        entry = struct.pack(">HHIH", 0x0112, 3, 1, orientation)
        assert cleared.count(entry) == 1
    assert read_picture(cleared) == read_picture(JPEG)


def test_a_photo_shows_no_thumbnail_of_what_has_been_cropped_since() -> None:
    header = b"JFIF\0\x01\x02\x01\0\x48\0\x48"
    thumbnail = header + b"\x05\x02" + SECRET[:30]
    other = segment(0xE0, b"JFXX\0\x10" + SECRET)
    rest = PHOTO[20:]  # behind its own header
    photo = b"\xff\xd8" + segment(0xE0, thumbnail) + other + segment(0xEE, ADOBE + SECRET) + rest
    expected = b"\xff\xd8" + segment(0xE0, header + b"\0\0") + segment(0xEE, ADOBE) + rest
    assert remove_metadata("image/jpeg", photo) == expected
    assert read_picture(expected) == read_picture(PHOTO)


def test_what_follows_a_photo_is_removed() -> None:
    assert remove_metadata("image/jpeg", PHOTO + SECRET) == PHOTO
    two_scans = JPEG[:-2] + SCAN[:-2] + segment(0xC4, b"t") + SCAN
    assert remove_metadata("image/jpeg", two_scans + PHOTO) == two_scans
    filled = PHOTO[:-2] + b"\xff" + PHOTO[-2:]
    assert remove_metadata("image/jpeg", filled) == PHOTO
    assert remove_metadata("image/jpeg", PHOTO[:-3]) == PHOTO[:-3], "one that was cut off"


def test_color_profiles_stay() -> None:
    drawn = segment(0xE2, b"ICC_PROFILE\0p") + segment(0xEE, ADOBE)
    whole = jpeg(before=drawn)
    assert remove_metadata("image/jpeg", whole) == whole


def test_a_png_keeps_what_is_drawn() -> None:
    kept = chunk(b"gAMA", b"\0\0\xb1\x8f") + chunk(b"iCCP", b"p")
    gone = b"".join(chunk(kind, SECRET) for kind in (b"eXIf", b"tEXt", b"iTXt", b"zTXt", b"prVt"))
    start, rest = PNG[:33], PNG[33:]
    cleared = remove_metadata("image/png", start + gone + kept + gone + rest + SECRET)
    assert cleared == start + kept + rest


def test_a_gif_keeps_its_frames_and_how_often_it_repeats() -> None:
    header, frame = GIF[:19], GIF[19:-1]
    repeats = b"!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
    control = b"!\xf9\x04\0\0\0\0\0"
    gone = b"!\xfe" + bytes([len(SECRET)]) + SECRET + b"\0"
    gone += b"!\xff\x0bXMP DataXMP" + bytes([len(SECRET)]) + SECRET + b"\0"
    sent = header + repeats + gone + control + frame + gone + b";" + SECRET
    assert remove_metadata("image/gif", sent) == header + repeats + control + frame + b";"
    assert remove_metadata("image/gif", gif(2, 2)) == gif(2, 2)


def test_a_webp_says_no_more_that_it_has_metadata() -> None:
    header = WEBP[12:30]
    extended = header[:8] + b"\x3c" + header[9:]
    picture = b"VP8 \x03\0\0\0abc\0"
    gone = b"".join(
        kind + struct.pack("<I", len(SECRET)) + SECRET for kind in (b"EXIF", b"XMP ", b"mine")
    )

    def riff(body: bytes) -> bytes:
        return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body

    sent = riff(extended + gone + picture + gone) + SECRET
    assert remove_metadata("image/webp", sent) == riff(header[:8] + b"\x30" + header[9:] + picture)


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/jpeg", JPEG[:-2]),
        ("image/jpeg", JPEG[:-2] + b"xx"),
        ("image/jpeg", b"\xff\xd8\xff\xe1\xff\xff"),
        ("image/jpeg", b"\xff\xd8\xff\xe1\0\x01\0\0"),
        ("image/png", PNG[:40]),
        ("image/png", PNG[:-12]),
        ("image/gif", GIF[:-1]),
        ("image/gif", GIF[:19] + b"x"),
        ("image/webp", WEBP[:16] + b"\xff\xff\xff\0" + WEBP[20:]),
    ],
)  # fmt: skip
def test_of_a_damaged_picture_nobody_can_tell(media_type: str, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"picture|marker|block"):
        remove_metadata(media_type, data)


@pytest.mark.parametrize(
    ("media_type", "data"),
    [("image/png", png(3, 2)), ("image/jpeg", PHOTO), ("image/gif", GIF), ("image/webp", WEBP)],
)
def test_a_picture_without_metadata_stays_as_it_is(media_type: str, data: bytes) -> None:
    assert remove_metadata(media_type, data) == data

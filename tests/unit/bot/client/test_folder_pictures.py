"""Which pictures a question shows from the folder of its session: none that a model could be made to steal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from answerback_client import folder_pictures
from answerback_client.errors import (
    ClientError,
    ForeignServiceError,
    RefusedError,
    UnreachableError,
)
from answerback_client.folder_pictures import (
    FolderPictures,
    find_pictures,
    upload_pictures,
    upload_pictures_blocking,
)
from tests.unit.picture_samples import GIF, JPEG, PNG, SVG, WEBP

pytestmark = pytest.mark.rule("FILE-40")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a picture, next to what is none of its business."""
    made = tmp_path / "project"
    (made / "shots").mkdir(parents=True)
    (made / "shots" / "before.png").write_bytes(PNG)
    (tmp_path / "outside.png").write_bytes(PNG)
    return made


def found(folder: Path, text: str, **more: object) -> list[str]:
    """The paths of the pictures that a question with this context shows."""
    return [*find_pictures({"context": text, **more}, folder).pictures]


def test_a_text_refers_to_the_uploaded_picture_with_its_path_and_size(folder: Path) -> None:
    text = "Better?\n\n![Before](shots/before.png) ![](shots/before.png)"
    call: Any = {"questions": [{"text": "![no](shots/before.png)", "context": text}], "n": 1}
    pictures = find_pictures(call, folder)
    [picture] = pictures.pictures.values()
    assert (picture.path, picture.data) == ("shots/before.png", PNG)
    kept = pictures.only({"shots-before.png": "file_1"})
    caption = "shots/before.png, 1 kB"
    shown = f"![Before ({caption})](file:shots-before.png) ![{caption}](file:shots-before.png)"
    context = f"Better?\n\n{shown}"
    assert kept.referring() == {"questions": [{**call["questions"][0], "context": context}], "n": 1}
    assert pictures.only({}).referring() == call, "what was not uploaded stays as it was written"


@pytest.mark.parametrize("data", [PNG, JPEG, GIF, WEBP], ids=["PNG", "JPEG", "GIF", "WebP"])
def test_pictures_are_told_by_their_bytes(folder: Path, data: bytes) -> None:
    (folder / "plot").write_bytes(data)
    assert found(folder, "![x](plot)") == ["plot"]


def _is_no_picture(data: bytes) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / "x.png").write_bytes(data)
        return "x.png"

    return make


def _link_out(folder: Path) -> str:
    (folder / "x.png").symlink_to(folder.parent / "outside.png")
    return "x.png"


def _linked_folder(folder: Path) -> str:
    (folder / "up").symlink_to(folder.parent)
    return "up/outside.png"


def _hidden(folder: Path) -> str:
    (folder / ".git").mkdir()
    (folder / ".git" / "x.png").write_bytes(PNG)
    return ".git/x.png"


def _link_to_hidden(folder: Path) -> str:
    _hidden(folder)
    (folder / "x.png").symlink_to(".git/x.png")
    return "x.png"


def _hidden_link(folder: Path) -> str:
    (folder / ".x.png").symlink_to("shots/before.png")
    return ".x.png"


def _pipe(folder: Path) -> str:
    os.mkfifo(folder / "x.png")
    return "x.png"


def _folder(folder: Path) -> str:
    (folder / "x.png").mkdir()
    return "x.png"


def _loop(folder: Path) -> str:
    (folder / "x.png").symlink_to("x.png")
    return "x.png"


ATTACKS: dict[str, Callable[[Path], str]] = {
    "above the folder": lambda _folder: "../outside.png",
    "above, spelt otherwise": lambda _folder: "%2e%2e/outside.png",
    "above, by a way around": lambda _folder: "shots/../../outside.png",
    "absolute": lambda folder: str(folder.parent / "outside.png"),
    "the folder itself": lambda _folder: "shots/..",
    "an address": lambda _folder: "https://example.com/x.png",
    "data": lambda _folder: "data:image/png;base64,AAAA",
    "a file address": lambda folder: f"file://{folder}/shots/before.png",
    "an upload of the call": lambda _folder: "file:before.png",
    "home": lambda _folder: "~/x.png",
    "missing": lambda _folder: "x.png",
    "a long path": lambda _folder: "x/" * 150 + "x.png",
    "no text of a file system": lambda _folder: "x%00.png",
    "a secret": _is_no_picture(b"AWS_SECRET=1"),
    "SVG": _is_no_picture(SVG),
    "empty": _is_no_picture(b""),
    "too large": _is_no_picture(PNG + bytes(folder_pictures.MAX_FILE)),
    "a link out": _link_out,
    "a folder that leads out": _linked_folder,
    "hidden": _hidden,
    "a link to something hidden": _link_to_hidden,
    "a hidden link": _hidden_link,
    "a pipe": _pipe,
    "a folder": _folder,
    "a link to itself": _loop,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_else_is_read(folder: Path, attack: str) -> None:
    path = ATTACKS[attack](folder)
    assert found(folder, f"![Look](<{path}>) ![Look]({path})") == []


def test_a_pipe_that_holds_a_picture_is_not_read(folder: Path) -> None:
    os.mkfifo(folder / "x.png")
    pipe = os.open(folder / "x.png", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(pipe, PNG)
        assert found(folder, "![x](x.png)") == []
        assert os.read(pipe, len(PNG)) == PNG
    finally:
        os.close(pipe)


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "latest.png").symlink_to("shots/before.png")
    (folder / "here").symlink_to("shots")
    text = "![x](latest.png) ![x](here/before.png) ![x](<./shots/before.png>)"
    assert found(folder, text) == ["latest.png", "here/before.png", "./shots/before.png"]


@pytest.mark.parametrize("swapped", ["shots", "shots/before.png"])
def test_a_link_that_takes_a_files_place_while_it_is_opened_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    (folder.parent / "before.png").write_bytes(PNG)
    real = os.open

    def swap(path: Any, flags: int, *more: Any, **named: Any) -> int:
        place = folder / swapped
        if not place.is_symlink():  # after links were resolved
            place.rename(folder / "gone")
            place.symlink_to(folder.parent / "before.png" if place.suffix else folder.parent)
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", swap)
    assert found(folder, "![x](shots/before.png)") == []
    assert (folder / swapped).is_symlink()


def test_a_thousand_small_files_are_not_even_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    real = folder_pictures.read_picture

    def read(root: Path, named: str) -> bytes | None:
        looked.append(named)
        return real(root, named)

    monkeypatch.setattr(folder_pictures, "read_picture", read)
    for number in range(1_000):
        (folder / f"{number}.png").write_bytes(PNG)
    text = " ".join(f"![x]({number}.png)" for number in range(1_000))
    assert found(folder, text) == looked == [f"{number}.png" for number in range(10)]


def test_all_pictures_of_a_call_have_a_limit_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_pictures, "MAX_BYTES", 2 * len(PNG))
    for name in "abc":
        (folder / f"{name}.png").write_bytes(PNG)
    assert found(folder, "![x](a.png) ![x](b.png) ![x](c.png)") == ["a.png", "b.png"]


@pytest.mark.parametrize(
    "text",
    [
        "```\n![x](shots/before.png)\n```",
        "~~~md\n![x](shots/before.png)",
        "`![x](shots/before.png)`",
        "[x](shots/before.png)",
        "shots/before.png",
    ],
)
def test_what_shows_no_picture_uploads_none(folder: Path, text: str) -> None:
    assert found(folder, text) == []


def test_names_are_told_apart_also_from_those_of_the_calls_own_files(folder: Path) -> None:
    for path in ("a b.png", "a_b.png", "shots-before.png"):
        (folder / path).write_bytes(PNG)
    call: Any = {"preview": "![](<a b.png>) ![](a_b.png) ![](shots/before.png) ![](a%20b.png)"}
    pictures = find_pictures(call, folder, frozenset({"shots-before.png"})).pictures
    assert [each.name for each in pictures.values()] == [
        "a_b.png",
        "a_b_2.png",
        "shots-before_2.png",
        "a_b_3.png",
    ]


@pytest.mark.parametrize("value", ["no", " No"])
def test_a_variable_turns_it_off(folder: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(folder_pictures.UPLOAD, value)
    assert found(folder, "![x](shots/before.png)") == []


Store = Callable[[str, bytes], dict[str, Any]]
Uploads = Callable[[FolderPictures, Store, dict[str, str]], Awaitable[FolderPictures]]


async def uploads_waiting(
    pictures: FolderPictures, store: Store, uploaded: dict[str, str]
) -> FolderPictures:
    """Upload over a connection that waits for each answer."""

    async def wait(name: str, data: bytes) -> dict[str, Any]:
        await asyncio.sleep(0)
        return store(name, data)

    return await upload_pictures(pictures, wait, uploaded)


async def uploads_blocking(
    pictures: FolderPictures, store: Store, uploaded: dict[str, str]
) -> FolderPictures:
    """Upload over a connection that blocks, as a hook does."""
    return upload_pictures_blocking(pictures, store, uploaded)


WAYS = pytest.mark.parametrize("upload", [uploads_waiting, uploads_blocking])
TWO = "![x](shots/before.png) ![x](after.png)"


async def pictures_of(folder: Path, text: str) -> FolderPictures:
    """Read the pictures that a question with this context shows."""
    return await asyncio.to_thread(find_pictures, {"context": text}, folder)


def stored(name: str, data: bytes) -> dict[str, Any]:
    """Return the answer of a service that shows the picture."""
    return {"id": f"file_{name}", "media_type": "image/png", "bytes": len(data)}


@WAYS
@pytest.mark.parametrize(
    "refusal",
    [RefusedError(422, {"title": "too many pixels"}), ForeignServiceError("a proxy's HTTP 413")],
    ids=["by the service", "by a proxy that limits bodies"],
)
async def test_a_picture_that_is_refused_is_left_out_and_the_rest_is_shown(
    folder: Path, caplog: pytest.LogCaptureFixture, upload: Uploads, refusal: ClientError
) -> None:
    (folder / "after.png").write_bytes(PNG)

    def refuse_first(name: str, data: bytes) -> dict[str, Any]:
        if name == "shots-before.png":
            raise refusal
        return stored(name, data)

    ids: dict[str, str] = {}
    kept = await upload(await pictures_of(folder, TWO), refuse_first, ids)
    assert ids == {"after.png": "file_after.png"}
    assert kept.referring()["context"] == (
        "![x](shots/before.png) ![x (after.png, 1 kB)](file:after.png)"
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"The picture shots/before.png is not shown: {refusal}"
    ]


@WAYS
async def test_an_upload_goes_on_where_an_outage_has_interrupted_it(
    folder: Path, upload: Uploads
) -> None:
    (folder / "after.png").write_bytes(PNG)
    sent: list[str] = []

    def fail_second(name: str, data: bytes) -> dict[str, Any]:
        sent.append(name)
        if len(sent) == 2:
            raise UnreachableError("It is down.")
        return stored(name, data)

    pictures, ids = await pictures_of(folder, TWO), dict[str, str]()
    with pytest.raises(UnreachableError):
        await upload(pictures, fail_second, ids)
    await upload(pictures, fail_second, ids)
    assert sent == ["shots-before.png", "after.png", "after.png"]


@WAYS
async def test_what_the_service_does_not_show_as_a_picture_stays_as_the_text_has_it(
    folder: Path, upload: Uploads
) -> None:
    pictures = await pictures_of(folder, "![x](shots/before.png)")
    kept = await upload(pictures, lambda name, _: {"id": name, "media_type": "text/plain"}, {})
    assert kept.referring() == {"context": "![x](shots/before.png)"}

"""Pictures in Slack: uploaded once, shown above the buttons, and named in words where that fails."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback_slack.pictures import is_slacks
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import LABELS, Rig
from tests.unit.picture_samples import PNG, WEBP, png

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
AGAIN = {"id": "again", "text": "To the replicas too?", "answer_type": "boolean"}


def file(name: str, data: bytes = PNG, **more: str) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode(), **more}


async def submit(up: Rig, *questions: dict[str, Any], **more: Any) -> tuple[Ask, Message]:
    sent = [file("before.png", alt="The page *before*"), file("after.png", png(9, 9))]
    ask = await up.submit(*(questions or (APPLY, AGAIN)), **{"files": sent, **more})
    return ask, up.live(ask)


def pictures(live: Message) -> list[tuple[str, str]]:
    return [
        (block["slack_file"]["id"], block["alt_text"])
        for block in live.blocks
        if block["type"] == "image"
    ]


@pytest.mark.rule("FILE-11")
async def test_pictures_are_uploaded_once_and_stand_above_the_buttons(up: Rig) -> None:
    ask, live = await submit(up)
    shown = pictures(live)
    assert [alt for _, alt in shown] == ["The page *before*", "after.png"]
    assert [up.slack.uploads.received[each] for each, _ in shown] == [PNG, png(9, 9)]
    assert up.slack.uploads.complete[shown[0][0]] == "The page *before*"
    kinds = [block["type"] for block in live.blocks]
    assert max(n for n, kind in enumerate(kinds) if kind == "image") < kinds.index("actions")
    assert "Sent with this" not in up.ada.sees(live).text
    await up.ada.click(live, LABELS.yes)
    ask = await up.shown(ask)
    assert pictures(live) == shown
    await up.ada.click(live, LABELS.no)
    ask = await up.shown(ask)
    assert not ask.open
    assert pictures(live) == shown
    assert up.slack.count("files.getUploadURLExternal") == 2
    assert up.slack.count("chat.postMessage") == 1


@pytest.mark.rule("FILE-11")
async def test_what_slack_does_not_show_is_named(up: Rig) -> None:
    sent = [file("a.webp", WEBP, alt="A plan"), file("b.txt", b"x" * 1_500), file("c.png")]
    _, live = await submit(up, files=sent)
    assert [alt for _, alt in pictures(live)] == ["c.png"]
    text = up.ada.sees(live).text
    assert "A plan (a.webp)" in text
    assert "b.txt, 1.5 kB" in text


@pytest.mark.rule("FILE-11")
@pytest.mark.parametrize("how", ["scope", "begin", "complete", "address", "refused", "unreachable"])
async def test_a_picture_that_fails_holds_up_no_prompt_and_is_named(up: Rig, how: str) -> None:
    uploads = up.slack.uploads
    match how:
        case "scope":
            up.slack.scopes.discard("files:write")
        case "begin":
            up.slack.faults.add("files.getUploadURLExternal", error="internal_error")
        case "complete":
            up.slack.faults.add("files.completeUploadExternal", error="internal_error")
        case "address":
            uploads.address = "http://169.254.169.254/latest"
        case "refused":
            uploads.address = f"{up.slack.url}upload/F0000099"
        case _:
            uploads.address = f"{up.slack.url}nowhere"
    ask, live = await submit(up)
    assert pictures(live) == []
    text = up.ada.sees(live).text
    assert "The page *before* (before.png)" in text
    await up.ada.click(live, LABELS.yes)
    assert (await up.shown(ask)).walk.answers


@pytest.mark.rule("FILE-11")
async def test_a_picture_that_slack_is_still_processing_is_tried_again(up: Rig) -> None:
    up.slack.uploads.unprocessed = 1
    _, live = await submit(up)
    assert len(pictures(live)) == 2
    assert up.slack.count("files.getUploadURLExternal") == 2


@pytest.mark.rule("FILE-11")
async def test_a_picture_that_slack_never_shows_is_named(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerback_slack.posting._PROCESSING", (0.0,))
    up.slack.uploads.unprocessed = 2
    ask, live = await submit(up)
    assert pictures(live) == []
    assert "before.png" in up.ada.sees(live).text
    await up.ada.click(live, LABELS.yes)
    await up.shown(ask)
    assert len(pictures(live)) == 2, "the next edit shows what is processed by then"
    assert up.slack.count("files.getUploadURLExternal") == 2


@pytest.mark.rule("FILE-11", "API-18")
async def test_an_erasure_deletes_the_pictures_in_slack(up: Rig) -> None:
    ask, live = await submit(up, APPLY)
    await up.ada.click(live, LABELS.yes)
    await up.shown(ask)
    await up.app.service.erase(ask.id)
    ask = await up.shown(ask)
    assert pictures(live) == []
    assert up.slack.uploads.complete == {}
    assert ask.placement.message is not None
    assert "files" not in ask.placement.message


@pytest.mark.rule("FILE-11")
@pytest.mark.parametrize(
    ("url", "is_theirs"),
    [
        ("https://files.slack.com/upload/v1/ABC", True),
        ("https://slack.com/upload", True),
        ("http://files.slack.com/upload", False),
        ("https://files.slack.com.evil.example/upload", False),
        ("https://evilslack.com/upload", False),
        ("https://slack.com@evil.example/", False),
        ("https://evil.example@files.slack.com/upload", False),
        ("https://files.slack.com:x/upload", False),
        ("https://files.slack.com:8443/", False),
        ("https://169.254.169.254/", False),
        ("", False),
    ],
)
def test_uploads_go_to_slack_alone(url: str, is_theirs: bool) -> None:
    assert is_slacks(url, "https://slack.com/api/") is is_theirs

"""Files that people send with what they type in Slack: whose bytes are read, from where, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback_slack.file_objects import parse_files
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig, run_app, workspace
from tests.unit.picture_samples import JPEG, PNG

WHY = {"id": "why", "text": "Why?", "answer_type": "text"}
AGAIN = {"id": "again", "text": "Again?", "answer_type": "boolean"}


async def send(
    up: Rig, ask: Ask, *files: Json, text: str = "See it", to_bot: bool = True
) -> Message:
    """Post a message with files in the ask's thread, by default one that mentions the bot."""
    up.slack.clock.advance(2)
    said = f"<@U0BOT> {text}" if to_bot else text
    return await up.ada.post(CHANNEL, said, thread=up.live(ask).ts, files=list(files), escape=False)


def names(ask: Ask) -> list[str]:
    return [file.name for given in ask.walk.answers for file in given.files]


async def refusal(up: Rig) -> str:
    return (await up.wait_for_notes(up.ada))[-1]


@pytest.mark.rule("FILE-22")
async def test_a_file_of_a_shared_channel_is_looked_up(up: Rig) -> None:
    ask = await up.submit(WHY, AGAIN)
    shared = up.slack.people_files.share("photo.png", PNG)
    said = await send(up, ask, up.slack.people_files.across_workspaces(shared))
    await up.wait_until_marked(said)
    assert names(await up.shown(ask)) == ["photo.png"]


@pytest.mark.rule("FILE-22")
@pytest.mark.parametrize("way", ["page", "redirect"])
async def test_without_the_scope_slacks_sign_in_page_is_never_taken_for_the_file(
    up: Rig, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = up.slack.people_files
    if way == "page":
        up.slack.scopes.discard("files:read")
    else:
        files.redirect = f"{up.slack.url}files-pri/T0FAKE-F0P000001/x"
        files.share("other.png", PNG)
    ask = await up.submit(WHY, AGAIN)
    shared = files.share("page.html", b"<html>mine</html>", "text/html")
    await send(up, ask, shared)
    assert "page.html could not be read from Slack: the app may not read files" in await refusal(up)
    assert (await up.shown(ask)).walk.answers == ()
    assert files.requests == [shared["id"]]
    assert "files:read" in caplog.text
    assert up.slack.bot_token not in caplog.text


@pytest.mark.rule("FILE-22")
async def test_a_page_that_a_person_sends_is_a_file_like_any_other(up: Rig) -> None:
    ask = await up.submit(WHY, AGAIN)
    shared = up.slack.people_files.share("page.html", b"<html>mine</html>", "text/html")
    await up.wait_until_marked(await send(up, ask, shared))
    assert names(await up.shown(ask)) == ["page.html"]


@pytest.mark.rule("FILE-22")
@pytest.mark.parametrize(
    "address", ["{foreign}/photo.png", "http://127.0.0.1@{host}/x", "file:///etc/passwd"]
)
async def test_no_other_address_is_asked_and_none_gets_the_token(
    up: Rig, address: str, unused_tcp_server: tuple[str, list[bytes]]
) -> None:
    host, received = unused_tcp_server
    ask = await up.submit(WHY, AGAIN)
    shared = up.slack.people_files.share("photo.png", PNG)
    url = address.format(foreign=f"http://{host}", host=host)
    await send(up, ask, {**shared, "url_private_download": url, "url_private": url})
    assert "its address belongs to somebody else" in await refusal(up)
    assert (await up.shown(ask)).walk.answers == ()
    assert received == []


@pytest.fixture
async def unused_tcp_server() -> Any:
    """The host and port of a server that is not Slack's, and what it has received."""
    received: list[bytes] = []

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(10))
        writer.close()

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", received


@pytest.mark.rule("FILE-21")
async def test_nothing_is_read_of_who_may_not_answer_and_not_before_it_is_used(up: Rig) -> None:
    ask = await up.submit(WHY)
    up.slack.clock.advance(2)
    shared = up.slack.people_files.share("a.png", PNG)
    thread = up.live(ask).ts
    said = "<@U0BOT> mine"
    await up.bob.post(CHANNEL, said, thread=thread, files=[shared], escape=False)
    await up.wait_for_notes(up.bob)
    await up.bob.post(CHANNEL, "among us", thread=thread, files=[shared])
    await up.slack.queue.settle()
    assert up.slack.people_files.requests == []


@pytest.mark.rule("FILE-22")
async def test_a_document_of_another_service_is_not_read_and_its_author_is_told(up: Rig) -> None:
    files = up.slack.people_files
    ask = await up.submit(WHY, AGAIN)
    elsewhere = files.share_elsewhere("plan", f"{up.slack.url}files-pri/T0FAKE-F0P000000/x")
    await up.wait_until_marked(await send(up, ask, elsewhere, files.share("photo.png", PNG)))
    assert LABELS.files_left_out in await refusal(up)
    assert names(await up.shown(ask)) == ["photo.png"]
    assert files.requests == ["F0P000001"]


@pytest.mark.rule("FILE-22")
@pytest.mark.parametrize("status", [429, 503])
async def test_slack_is_asked_again_after_a_failure_that_passes(up: Rig, status: int) -> None:
    ask = await up.submit(WHY, AGAIN)
    up.slack.people_files.faults = [status]
    await up.wait_until_marked(await send(up, ask, up.slack.people_files.share("a.png", PNG)))
    assert names(await up.shown(ask)) == ["a.png"]


@pytest.mark.rule("FILE-21")
async def test_a_download_that_stalls_is_given_up_in_words_and_holds_up_no_click(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, files=0.3)) as up:
        ask, other = await up.submit(WHY, AGAIN), await up.submit(AGAIN)
        up.slack.people_files.stalls = True
        await send(up, ask, up.slack.people_files.share("a.png", PNG))
        # On a busy machine, the time may be over before the download begins.
        await up.slack.until(
            lambda: (
                up.slack.people_files.requests
                or any(each.ephemeral_to for each in up.ada.messages(CHANNEL))
            )
        )
        ack = await up.ada.click(up.live(other), LABELS.yes)
        assert ack is not None
        assert ack.ok
        assert not (await up.shown(other)).open
        assert "a.png could not be read from Slack: it took too long" in await refusal(up)
        assert (await up.shown(ask)).walk.answers == ()


@pytest.mark.rule("FILE-22")
async def test_a_message_that_arrives_twice_is_read_and_counts_once(up: Rig) -> None:
    ask = await up.submit(WHY, {**WHY, "id": "more"})
    shared = up.slack.people_files.share("a.png", PNG)
    up.slack.people_files.faults = [503]  # so that the second arrives while the first is read
    said = await send(up, ask, shared)
    event = said.payload() | {"channel": CHANNEL, "channel_type": "channel"}
    up.slack.emit(event)
    await up.wait_until_marked(said)
    await up.slack.queue.settle()
    stored = await up.shown(ask)
    assert names(stored) == ["a.png"]
    assert up.slack.people_files.requests == [shared["id"]] * 2  # the first try failed
    up.slack.emit(event)
    await up.slack.queue.settle()
    assert len(up.slack.people_files.requests) == 2


@pytest.mark.rule("FILE-22")
async def test_a_message_whose_file_is_refused_is_read_once(up: Rig) -> None:
    ask = await up.submit(WHY)
    shared = up.slack.people_files.share("a.png", b"")
    said = await send(up, ask, shared)
    up.slack.emit(said.payload() | {"channel": CHANNEL, "channel_type": "channel"})
    assert "a.png is empty" in await refusal(up)
    await up.slack.queue.settle()
    assert len(up.ada.private_notes(CHANNEL)) == 1
    assert up.slack.people_files.requests == [shared["id"]]


@pytest.mark.rule("FILE-22")
async def test_a_message_whose_files_were_being_read_when_the_process_died_counts_later(
    tmp_path: Path,
) -> None:
    """Slack sends an event again that was not acknowledged."""
    database = tmp_path / "answerback.db"
    async with workspace() as (slack, ada, bob):
        async with run_app(slack, database, "socket") as app:
            up = Rig(slack, app, ada, bob)
            ask = await up.submit(WHY)
            slack.people_files.stalls = True
            await send(up, ask, slack.people_files.share("a.png", PNG))
            await slack.until(lambda: slack.people_files.requests)
        slack.people_files.stalls = False
        async with run_app(slack, database, "socket") as app:
            up = Rig(slack, app, ada, bob)
            await slack.until(lambda: any(m.reactions for m in slack.messages(CHANNEL)))
            assert names(await up.shown(ask)) == ["a.png"]


@pytest.mark.rule("FILE-19", "FILE-22")
@pytest.mark.parametrize("text", ["see this", ""])
async def test_a_message_with_files_that_is_offered_as_the_answer_is_used_with_them(
    up: Rig, text: str
) -> None:
    ask = await up.submit(WHY)
    said = await send(up, ask, up.slack.people_files.share("a.jpg", JPEG), text=text, to_bot=False)
    [offer] = await up.wait_for_offers()
    assert up.slack.people_files.requests == []
    await up.ada.click(offer, LABELS.use_text)
    await up.wait_until_marked(said)
    stored = await up.shown(ask)
    assert ([given.value for given in stored.walk.answers], names(stored)) == ([text], ["a.jpg"])


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.pop("id"),
        lambda file: file.update(mode="tombstone"),
        lambda file: file.update(mode="external"),
        lambda file: file.update(is_external=True),
        lambda file: (file.pop("url_private"), file.pop("url_private_download")),
    ],
)
def test_only_files_whose_bytes_slack_has_are_files(change: Callable[[Json], object]) -> None:
    file: Json = {
        "id": "F1", "name": "a.png", "mode": "hosted", "size": 1,
        "url_private": "https://files.slack.com/a", "url_private_download": "https://files.slack.com/b",
    }  # fmt: skip
    [parsed] = parse_files([file, "F2", None])
    assert (parsed.name, parsed.size, parsed.url) == ("a.png", 1, "https://files.slack.com/b")
    change(file)
    assert parse_files([file]) == ()

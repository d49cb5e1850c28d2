"""The interactions endpoint: nothing unsigned is parsed, and everything signed gets a response."""

from __future__ import annotations

import copy
import io
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.core.labels import Labels
from answerback.service.service import Service
from answerback_discord import parse
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
ONE: list[dict[str, Any]] = [
    {"id": "a", "text": "A?", "answer_type": "select", "options": [f"o{n}" for n in range(9)]}
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = (
    "id",
    "token",
    "type",
    "data",
    "member",
    "user",
    "message",
    "guild_id",
    "content",
    "author",
    "channel_id",
)


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http", gateway=False) as made:
        yield made


async def post_signed(
    up: Rig, raw: bytes, *, age: float = 0.0, good: bool = True
) -> tuple[int, bytes]:
    """Send a signed POST whose timestamp is ``age`` seconds old."""
    stamp = str(int(time.time() - age))
    signature = up.discord.application.signing_key.sign(stamp.encode() + raw).signature.hex()
    headers = {
        "X-Signature-Ed25519": signature if good else "0" * 128,
        "X-Signature-Timestamp": stamp,
    }
    url = str(up.discord.application.interactions_endpoint_url)
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, data=io.BytesIO(raw), headers=headers) as response,
    ):
        return response.status, await response.read()


@pytest.mark.rule("DISCORD-6")
async def test_discords_check_of_an_endpoint_passes(up: Rig) -> None:
    url = str(up.discord.application.interactions_endpoint_url)
    await up.discord.interactions.check_endpoint(url)


@pytest.mark.rule("DISCORD-6")
@pytest.mark.parametrize(("age", "good"), [(0.0, False), (400.0, True), (-400.0, True)])
async def test_a_bad_or_old_signature_is_a_401(up: Rig, age: float, good: bool) -> None:
    status, _ = await post_signed(up, b'{"type":1}', age=age, good=good)
    assert status == 401


@pytest.mark.rule("DISCORD-6")
@pytest.mark.parametrize("signature", ["", "zz", "00"])
async def test_a_malformed_signature_is_a_401(up: Rig, signature: str) -> None:
    url = str(up.discord.application.interactions_endpoint_url)
    headers = {"X-Signature-Ed25519": signature, "X-Signature-Timestamp": "x"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, data=b"{", headers=headers) as response,
    ):
        assert response.status == 401


@pytest.mark.rule("DATA-13")
@pytest.mark.parametrize("raw", [b"", b"[]", b"nonsense", b"\xff", b"[" * 100_000])
async def test_a_signed_body_that_is_not_an_object_is_a_400(up: Rig, raw: bytes) -> None:
    status, _ = await post_signed(up, raw)
    assert status == 400


async def test_a_compressed_body_is_a_415(up: Rig, caplog: pytest.LogCaptureFixture) -> None:
    url = str(up.discord.application.interactions_endpoint_url)
    headers = {"Content-Encoding": "gzip"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, data=io.BytesIO(b"junk"), headers=headers) as response,
    ):
        assert response.status == 415
    assert "ERROR" not in [record.levelname for record in caplog.records]


async def test_an_oversized_body_is_a_413(up: Rig) -> None:
    status, _ = await post_signed(up, b" " * (1 << 20) + b"{}")
    assert status == 413


async def test_an_unexpected_interaction_is_answered_all_the_same(up: Rig) -> None:
    for body in ({"type": 3}, {"type": 4}, {"type": 99, "data": {}}, {"type": 2, "data": None}):
        status, raw = await post_signed(up, json.dumps(body).encode())
        assert status == 200
        assert json.loads(raw)["type"] in {4, 8}


@pytest.mark.rule("SURFACE-16")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StoreError("the disk is full"), LABELS.try_again),
        (CommitUnknownError("?"), LABELS.unsure),
        (UnreadableRowError("?"), LABELS.unreadable),
        (RuntimeError("?"), LABELS.unsure),
    ],
)
async def test_a_person_whose_click_cannot_be_saved_is_told_and_can_try_again(
    up: Rig, monkeypatch: pytest.MonkeyPatch, error: Exception, expected: str
) -> None:
    ask = await up.shown(await up.submit(ONE))

    async def broken(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as broken_for_now:
        broken_for_now.setattr(Service, "apply", broken)
        done = await up.ann.choose(None, ["o3"])
    assert done.answered
    note = up.ann.notes()[0]
    assert expected in note.text
    if isinstance(error, StoreError):
        assert (await up.ann.click("Answer", on=note.message)).answered
        assert (await up.shown(ask)).walk.answers[0].value == "o3"


@pytest.mark.rule("SURFACE-16")
async def test_a_text_that_cannot_be_saved_is_given_back(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await up.shown(await up.submit([{"id": "why", "text": "Why?", "answer_type": "text"}]))
    await up.ann.click(LABELS.answer)
    up.ann.fill(LABELS.other_label, "because *I* say so")

    async def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Service, "apply", broken)
    assert (await up.ann.submit()).answered
    note = up.ann.notes()[0]
    assert LABELS.try_again in note.text
    assert remove_escapes(note.text).endswith("because *I* say so")


async def test_an_answer_is_saved_even_if_the_drafts_of_its_form_cannot_be_deleted(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    properties = {name: {"type": "string"} for name in "abcdef"}
    schema = {"type": "object", "properties": properties}
    ask = await up.submit([{"id": "s", "text": "All", "answer_type": "schema", "schema": schema}])
    await up.shown(ask)
    await up.ann.click(LABELS.fill_in)
    assert (await up.ann.submit()).answered
    await up.ann.click(LABELS.continue_)
    save = up.service.save_draft

    async def keep_only(key: str, value: Any) -> None:
        if value is None:
            raise StoreError("the disk is full")
        await save(key, value)

    monkeypatch.setattr(up.service, "save_draft", keep_only)
    assert (await up.ann.submit()).answered
    assert (await up.shown(ask)).status == "answered"
    assert "A draft could not be deleted: the disk is full" in caplog.text


@pytest.mark.rule("SURFACE-16")
async def test_a_click_that_makes_the_parser_fail_is_answered_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def odd(_: object) -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr(parse, "parse_interaction", odd)
    async with rig(tmp_path, "http", gateway=False) as up:
        await up.shown(await up.submit(ONE))
        assert (await up.ann.choose(None, ["o3"])).answered
        assert LABELS.unsure in up.ann.notes()[0].text
    assert [each.message for each in caplog.records if each.exc_info] == ["A click failed"]


async def test_a_selection_that_cannot_be_saved_is_not_offered_as_an_answer_to_resend(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await up.shown(await up.submit([ONE[0] | {"answer_type": "multi_select"}]))

    async def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Service, "change_draft", broken)
    assert (await up.ann.choose(None, ["o3"])).answered
    assert LABELS.try_again in up.ann.notes()[0].text
    assert up.ann.notes()[0].controls == []


def test_a_time_that_is_none_is_unknown() -> None:
    assert parse.changed_at({"id": "175928847299117063", "edited_timestamp": "just now"}) is None
    assert parse.changed_at({"id": "175928847299117063"}) == pytest.approx(1_462_015_105.796)


@pytest.mark.rule("DATA-13")
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_no_payload_makes_the_parser_fail(body: dict[str, Any]) -> None:
    parse.parse_interaction(body)
    parse.parse_typed_message(body, "1")


CLICK: dict[str, Any] = {
    "id": "1",
    "application_id": "2",
    "type": 3,
    "token": "t",
    "version": 1,
    "guild_id": "3",
    "member": {
        "user": {"id": "4", "username": "ann", "global_name": "Ann"},
        "nick": None,
        "roles": ["5"],
    },
    "user": {"id": "6", "username": "bob"},
    "message": {"id": "7", "flags": 32768, "components": [{"type": 1, "components": []}]},
    "data": {"custom_id": "ab1:ask_1:1:back", "component_type": 2, "id": 9},
}
PLACES = [(key,) for key in CLICK] + [
    *[("member", key) for key in ("user", "nick", "roles")],
    *[("member", "user", key) for key in ("id", "username", "global_name", "bot")],
    *[("message", key) for key in ("id", "flags", "components")],
    *[("data", key) for key in ("custom_id", "component_type", "values", "components")],
]
ODD = JSON | st.sampled_from([3.0, "3", True, [], {}, {"id": "8"}, ["1"], 64, -1])


@example([(("type",), 3.0)])
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.just(...) | ODD), max_size=3))
def test_the_fast_parser_omits_nothing_needed_of_a_click(changes: list[tuple[Any, Any]]) -> None:
    body = copy.deepcopy(CLICK)
    for (*path, last), value in changes:
        inner: Any = body
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner.pop(last, None)
            if value is not ...:
                inner[last] = copy.deepcopy(value)
    read = parse.parse_body(json.dumps(body).encode())
    assert read is not None
    assert parse.parse_interaction(read) == parse.parse_interaction(body)
    assert read.get("type") == body.get("type")


def test_the_message_of_a_button_click_is_not_parsed_in_full() -> None:
    read = parse.parse_body(json.dumps(CLICK).encode())
    assert read is not None
    assert read["message"] == {"id": "7", "flags": 32768}

"""The public endpoint for HTTP mode: a request that is not Slack's, new and recent is rejected at almost no cost."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback_slack import parse, typed_messages
from answerback_slack.http_endpoint import (
    MAX_BODY_BYTES,
    ClickPayload,
    HttpEndpoint,
    json_text_from_body,
    parse_click,
    parse_payload,
)
from answerback_slack.interactions import Ack
from answerback_slack.limits import SIGNATURE_SECONDS
from tests.fakes.slack.delivery import SentRequest, sign
from tests.unit.adapters.slack.rig import LABELS, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http") as made:
        yield made


async def test_the_url_verification_challenge_is_answered(up: Rig) -> None:
    way = up.slack.http
    ack = await way.post(way.request("events_api", {"type": "url_verification", "challenge": "c1"}))
    assert ack.body == {"challenge": "c1"}


@pytest.mark.rule("SLACK-6")
async def test_a_replayed_click_is_rejected(up: Rig) -> None:
    ask = await up.submit(APPLY, {**APPLY, "id": "again"})
    await up.ada.click(up.live(ask), LABELS.yes)
    [click] = [each for each in up.slack.http.sent if each.body.startswith(b"payload=")]
    assert (await up.slack.http.post(click)).status == 401
    assert (await up.shown(ask)).revision == 2


@pytest.mark.parametrize("seconds", [60 - SIGNATURE_SECONDS, SIGNATURE_SECONDS - 60])
async def test_a_slightly_wrong_clock_is_tolerated(up: Rig, seconds: int) -> None:
    way = up.slack.http
    sent = way.request("events_api", {"type": "x"}, timestamp=int(time.time()) + seconds)
    assert (await way.post(sent)).status == 200


@pytest.mark.rule("SLACK-6")
@pytest.mark.parametrize("seconds", [-SIGNATURE_SECONDS - 60, SIGNATURE_SECONDS + 60])
async def test_an_old_or_future_request_is_rejected(up: Rig, seconds: int) -> None:
    way = up.slack.http
    sent = way.request("events_api", {"type": "x"}, timestamp=int(time.time()) + seconds)
    assert (await way.post(sent)).status == 401


@pytest.mark.rule("SLACK-6")
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Signature": "v0=00"},
        {"X-Slack-Signature": "é"},
        {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": "-1"},
        {"X-Slack-Request-Timestamp": "９９９"},
    ],
)
async def test_an_unsigned_request_is_rejected(up: Rig, headers: dict[str, str]) -> None:
    way = up.slack.http
    sent = way.request("interactive", {"type": "block_actions"})
    assert (await way.post(SentRequest(sent.headers | headers, sent.body))).status == 401


@pytest.mark.rule("SLACK-6")
async def test_a_signature_with_another_secret_is_rejected(up: Rig) -> None:
    way = up.slack.http
    assert (await way.post(way.request("interactive", {}, secret="other"))).status == 401


async def test_a_compressed_body_gets_a_415(up: Rig, caplog: pytest.LogCaptureFixture) -> None:
    way = up.slack.http
    sent = way.request("interactive", {})
    ack = await way.post(SentRequest(sent.headers | {"Content-Encoding": "gzip"}, b"junk"))
    assert ack.status == 415
    assert "ERROR" not in [record.levelname for record in caplog.records]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_a_huge_body_is_rejected_unread(up: Rig) -> None:
    way = up.slack.http
    sent = way.request("interactive", {})
    ack = await way.post(SentRequest(sent.headers, b"x" * (MAX_BODY_BYTES + 1)))
    assert ack.status == 413 or "connection" in (ack.error or "")


@pytest.mark.rule("DATA-13")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"[1]"),
        ("application/json", b"\xff\xfe"),
        ("application/json", b"[" * 100_000),
        ("application/x-www-form-urlencoded", b"payload=%7B"),
        ("application/x-www-form-urlencoded", b"other=1"),
        ("application/x-www-form-urlencoded", b"payload=%ff"),
        ("application/x-www-form-urlencoded", b""),
        ("application/x-www-form-urlencoded", b"ssl_check=1"),
    ],
)
async def test_a_signed_body_that_is_not_a_payload_gets_a_400(
    up: Rig, kind: str, body: bytes
) -> None:
    now = int(time.time())
    headers = {
        "Content-Type": kind,
        "X-Slack-Request-Timestamp": str(now),
        "X-Slack-Signature": sign(up.slack.signing_secret, body, now),
    }
    assert (await up.slack.http.post(SentRequest(headers, body))).status == 400


@pytest.mark.parametrize("payload", [{}, {"type": "shortcut"}, {"type": "view_closed"}])
async def test_payloads_that_are_not_for_us_are_acknowledged(
    up: Rig, payload: dict[str, object]
) -> None:
    assert (await up.slack.http.send("interactive", payload)).ok


@pytest.mark.rule("DATA-13")
async def test_a_payload_that_cannot_be_read_affects_no_other(up: Rig) -> None:
    assert (await up.slack.http.send("interactive", {"type": "view_submission", "view": 5})).ok
    ask = await up.submit(APPLY)
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status == "answered"


async def test_old_signatures_are_forgotten() -> None:
    now = [1_700_000_000.0]
    front = HttpEndpoint("secret", _nothing, _nothing, lambda: now[0])
    for step in range(5):
        now[0] = 1_700_000_000 + step * 400
        stamp = str(int(now[0]))
        signature = sign("secret", b"{}", stamp)
        assert front.rejection_reason(b"{}", stamp, signature) is None
        front._seen[signature] = now[0]
    assert len(front._seen) <= 3


async def _nothing(_payload: object) -> Ack:
    return Ack()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
_KEYS = [
    "type", "user", "team", "actions", "view", "state", "values", "container", "channel", "event",
    "callback_id", "private_metadata", "trigger_id", "value", "block_id", "selected_option",
]  # fmt: skip
_PAYLOADS = st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=8)


@pytest.mark.rule("DATA-13")
@given(
    _PAYLOADS,
    st.sampled_from(["block_actions", "view_submission", "message", None]),
)
def test_the_parser_never_raises(payload: dict[str, object], kind: str | None) -> None:
    control = "ab1:ask_0123:1:answer:true"
    action = {"value": control, "selected_option": payload}
    for body in (
        payload,
        {**payload, "type": kind},
        {"type": kind, "user": {"id": "U1"}, "actions": [action], **payload},
        {"type": kind, "user": {"id": "U1"}, "view": {**payload, "callback_id": control}},
    ):
        parse.parse_interaction(body, parse.BotIdentity(team="T1"))
    typed_messages.typed_message_from_event({**payload, "type": kind})


@given(_JSON)
def test_a_body_is_decoded_as_the_standard_library_would(value: object) -> None:
    body = ("payload=" + quote_plus(json.dumps({"v": value}))).encode()
    assert parse_payload(json_text_from_body("application/x-www-form-urlencoded", body)) == {
        "v": value
    }


@given(_PAYLOADS, _JSON)
def test_skipping_the_copy_of_the_message_does_not_change_what_a_click_means(
    payload: dict[str, object], other: object
) -> None:
    control = "ab1:ask_0123:1:answer:true"
    action = {"value": control, "selected_option": other, "action_ts": "1.2"}
    whole = {
        "user": {"id": "U1"},
        "trigger_id": "1.2.3",
        "response_url": "http://127.0.0.1:1/",
        **payload,
        "type": "block_actions",
        "actions": [action],
        "message": payload,
    }
    read = parse_click(json.dumps(whole))
    assert read is not None
    assert read == {name: whole[name] for name in whole if name in ClickPayload.__annotations__}
    assert _parsed(read) == _parsed(whole)
    assert parse_click(json.dumps({**whole, "type": "view_submission"})) is None


def _parsed(payload: Mapping[str, object]) -> object:
    found = parse.parse_interaction(payload, parse.BotIdentity(team="T1"))
    return replace(found, received_at=0.0) if isinstance(found, parse.Click) else found

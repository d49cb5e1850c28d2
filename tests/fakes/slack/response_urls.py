"""Response URLs: messages that the app posts about one click, up to five within half an hour.

Owns replace, delete and new messages, the only way to alter an ephemeral message. Blocks that are
refused are refused without detail, as reported of the real thing. Source:
https://docs.slack.dev/interactivity/handling-user-interaction
"""

from typing import TYPE_CHECKING

from aiohttp import web

from tests.fakes.slack import methods_chat, rules
from tests.fakes.slack.checks import check_message
from tests.fakes.slack.interactivity import ResponseUrl
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import BOT_USER, Message

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack


async def handle(slack: "FakeSlack", request: web.Request) -> web.StreamResponse:
    """POST to a response URL."""
    entry = slack.interactivity.response_urls.get(request.match_info["token"])
    fault = slack.faults.take("response_url", {})
    if fault is not None and fault.status is not None:
        headers = {"Retry-After": str(fault.retry_after)} if fault.status == 429 else {}
        return web.Response(status=fault.status, headers=headers)
    if entry is None:
        return _refused("invalid_url")
    if slack.clock.now() - entry.issued > rules.RESPONSE_URL_SECONDS:
        return _refused("expired_url")
    if entry.uses >= rules.RESPONSE_URL_USES:
        return _refused("used_url")
    body = await request.json()
    entry.uses += 1
    entry.posted.append(body)
    blocks = body.get("blocks") or []
    if not body.get("delete_original"):
        if not blocks and not body.get("text"):
            return _refused("no_text", 400)
        if check_message(body, update=True):  # the strictest reading: nothing is documented
            return _refused("invalid_blocks", 400)
    _apply(slack, entry, body)
    slack.changed()
    if fault is not None and fault.drop and request.transport is not None:
        request.transport.abort()  # after it was done
    return web.Response(text="ok")


def _refused(code: str, status: int = 404) -> web.Response:
    return web.json_response({"ok": False, "error": code}, status=status)


def _apply(slack: "FakeSlack", entry: ResponseUrl, body: Json) -> None:
    original = _original(slack, entry)
    if body.get("delete_original"):
        if original is not None:
            methods_chat.remove(slack, original)
        return
    text, blocks = str(body.get("text") or ""), body.get("blocks") or []
    if body.get("replace_original"):
        if original is not None:
            methods_chat.revise(slack, original, text, blocks)
        return
    private = body.get("response_type", "ephemeral") == "ephemeral"
    message = Message(
        entry.source.channel, slack.workspace.next_ts(), BOT_USER, text,
        slack.workspace.fill_ids(blocks), body.get("thread_ts"), bot=True,
        ephemeral_to=entry.user if private else None,
    )  # fmt: skip
    slack.workspace.put(message)
    if not private:
        methods_chat.announce(slack, message)


def _original(slack: "FakeSlack", entry: ResponseUrl) -> Message | None:
    ts = entry.source.payload["ts"]
    stored = slack.workspace.messages[entry.source.channel].get(ts)
    if stored is None:
        stored = next((m for m in slack.workspace.ephemerals if m.ts == ts), None)
    return stored if stored is not None and not stored.deleted else None

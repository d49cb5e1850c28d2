"""Check whether Telegram is set up as Answerback needs it. Each problem comes with its fix; nothing is posted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from answerback.core.ask import ANYONE
from answerback.core.errors import PlatformError
from answerback.ports.plugin import DoctorContext, Finding
from answerback_chat.doctor_checks import FindingFactory
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.group_membership import ADMINISTRATORS, OUT
from answerback_telegram.http_endpoint import address
from answerback_telegram.keyboards import Json
from answerback_telegram.plugin import TelegramSettings

_TELEGRAM: Final = FindingFactory("Telegram")


async def findings(settings: TelegramSettings, checkup: DoctorContext) -> AsyncIterator[Finding]:
    calls = TelegramApi(checkup.http, settings.token, settings.api_url)
    is_open = ANYONE in {*settings.responders, *checkup.responders}
    try:
        me = await calls.call_object("getMe")
        info = await calls.call_object("getWebhookInfo")
    except PlatformError as error:
        yield _TELEGRAM.call_failed("bot token", error)
        return
    yield _TELEGRAM.ok(f"bot token, of @{me.get('username')}")
    yield _updates(info, checkup.public_url, webhook=settings.webhook)
    yield _groups(me)
    if any({*who} == {ADMINISTRATORS} for who in checkup.direct):
        yield _TELEGRAM.problem(
            "responders",
            'only "@admins" may act in a direct message, which has no administrators',
            "Name people by their ids, or ask in a group.",
        )
    for channel in checkup.channels:
        yield await _chat(channel, me, calls, is_open=is_open)


def _updates(info: Json, public_url: str | None, *, webhook: bool) -> Finding:
    """Check how updates arrive: the service itself sets and removes the address when it starts."""
    what, registered = "updates", str(info.get("url") or "")
    expected = address(public_url) if webhook else ""
    if registered != expected:
        wrong = f"Telegram sends them to {registered or 'nowhere'}, until the service starts"
        fix = "Start the service: it tells Telegram where updates go."
        return _TELEGRAM.problem(what, wrong, fix, warning=True)
    if webhook and (problem := info.get("last_error_message")):
        fix = f"Make {expected} reachable from the internet by HTTPS."
        return _TELEGRAM.problem(what, f"Telegram could not deliver the last one: {problem}", fix)
    return _TELEGRAM.ok(f"{what}, {f'at {expected}' if webhook else 'by long polling'}")


def _groups(me: Json) -> Finding:
    if me.get("can_join_groups") is False:
        fix = "Send /setjoingroups to @BotFather, choose the bot, and Enable; a direct message needs none of this."
        return _TELEGRAM.problem("groups", "the bot cannot be added to groups", fix, warning=True)
    if me.get("can_read_all_group_messages"):
        return _TELEGRAM.ok(
            "groups, with privacy mode off: a message that mentions the bot is read, too"
        )
    return _TELEGRAM.ok("groups, with privacy mode on: people answer by buttons and replies")


async def _chat(channel: str, me: Json, calls: TelegramApi, *, is_open: bool) -> Finding:
    what = f"chat {channel}"
    try:
        about = await calls.call_object("getChat", {"chat_id": channel})
        name = about.get("title") or about.get("first_name") or channel
        what = f"chat {channel}, {name}"
        if about.get("type") == "channel":
            wrong = "it is a channel, where nobody can answer"
            return _TELEGRAM.problem(what, wrong, "Name a group instead.")
        if is_open and about.get("username"):
            fix = "Name responders, or make the group private."
            return _TELEGRAM.problem(what, "anyone who finds this public group could answer", fix)
        if about.get("type") == "group":  # whose members only tell that it has become a supergroup
            await calls.call("getChatMemberCount", {"chat_id": channel})
        if channel.startswith("-"):
            member = await calls.call_object(
                "getChatMember", {"chat_id": channel, "user_id": me["id"]}
            )
            if member.get("status") in OUT:
                return _TELEGRAM.problem(what, "the bot is not in it", "Add the bot to the group.")
            if member.get("status") == "restricted" and member.get("can_send_messages") is False:
                wrong = "the bot may not write there"
                return _TELEGRAM.problem(what, wrong, "Lift its restriction.")
            if missing := _missing_media_rights(about, member):
                wrong = (
                    f"the bot may not send {missing} there, so pictures from agents are only named"
                )
                fix = "Let members send them, or make the bot an administrator."
                return _TELEGRAM.problem(what, wrong, fix, warning=True)
    except PlatformError as error:
        return _TELEGRAM.call_failed(what, error)
    return _TELEGRAM.ok(what)


def _missing_media_rights(chat: Json, member: Json) -> str:
    """Return what of photos and files a bot may not send to a group; empty: nothing, or that is not known.

    https://core.telegram.org/bots/api#chatpermissions
    """
    match member.get("status"):
        case "member":
            rights = chat.get("permissions")
        case "restricted":
            rights = member
        case _:
            rights = None
    if not isinstance(rights, dict):
        return ""
    kinds = {"can_send_photos": "photos", "can_send_documents": "files"}
    return " or ".join(name for right, name in kinds.items() if rights.get(right) is False)

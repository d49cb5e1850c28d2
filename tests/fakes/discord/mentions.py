"""Whom a message would notify, under its allowed_mentions.

https://docs.discord.com/developers/resources/message#allowed-mentions-object. Text in code spans counts too, and so
do pings for which the bot lacks the permission: a test that asks for silence should not depend on either.
"""

import re

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.rules import TEXT, walk

USER = re.compile(r"<@!?(\d+)>")
ROLE = re.compile(r"<@&(\d+)>")
EVERYONE = re.compile(r"@(everyone|here)")
PARSED_BY_DEFAULT = ("users", "roles", "everyone")


def texts_of(message: Payload) -> list[str]:
    """Every text of a message that Discord reads mentions from."""
    shown = [
        each.get("content") or ""
        for _, each in walk(message.get("components") or [])
        if each.get("type") == TEXT
    ]
    return [text for text in [message.get("content") or "", *shown] if text]


def pings(
    message: Payload, allowed: Payload | None, *, interaction: bool, replied_to: int | None
) -> list[str]:
    """The mentions that notify somebody: `user:1`, `role:2`, `everyone`, `here`, in order of appearance.

    Args:
        message: content and components as they are after the request.
        allowed: the request's allowed_mentions, None where it has none.
        interaction: the request came with an interaction's token, where only users are parsed by default.
        replied_to: the author of the message replied to.
    """
    default = ("users",) if interaction else PARSED_BY_DEFAULT
    parse = default if allowed is None else (allowed.get("parse") or ())
    users = {str(each) for each in (allowed or {}).get("users") or ()}
    roles = {str(each) for each in (allowed or {}).get("roles") or ()}
    found: list[str] = []
    for text in texts_of(message):
        found += [
            f"user:{each}" for each in USER.findall(text) if "users" in parse or each in users
        ]
        found += [
            f"role:{each}" for each in ROLE.findall(text) if "roles" in parse or each in roles
        ]
        found += [each for each in EVERYONE.findall(text) if "everyone" in parse]
    if replied_to is not None and (allowed is None or allowed.get("replied_user")):
        found.append(f"user:{replied_to}")
    return list(dict.fromkeys(found))

"""What one person is told or asked privately: notes, mistakes, the second step of End Turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from adapters import texts, words
from adapters.controls import Verb
from adapters.discord import blocks as c
from adapters.discord import limits
from adapters.discord.blocks import Json, Style
from adapters.discord.choices import button
from adapters.discord.text import fit, inert, shorten
from adapters.plain import visible
from bot.ask import ANYONE, Ask
from bot.errors import Problem
from bot.labels import Labels
from bot.ports import Rejected
from bot.view import View, view_of

CONFIRMED: Final = "yes"
"""The argument of the End Turn control that ends the turn indeed."""
_ROOM: Final = limits.MESSAGE_TEXT - 100
_WORDS_ROOM: Final = 2_400
_MOST_NAMED: Final = 10
_MOST_PROBLEMS: Final = 10
_HOLE: Final = "\0"
"""Where markdown of ours goes in a sentence whose other parts are made inert."""


def note(content: str, buttons: Sequence[Json] = ()) -> Json:
    """A private message; ``content`` is markdown, with everything foreign in it made inert."""
    return c.message([c.text(texts.shorten(content, _ROOM)), *c.rows(buttons)], private=True)


def said(sentence: str, typed: str, labels: Labels) -> str:
    """Markdown of ours, and below it what the person had typed, to be copied from there."""
    if not typed.strip():
        return sentence
    kept, _ = shorten(typed, _WORDS_ROOM)
    return f"{sentence}\n-# {inert(labels.entered)}\n>>> {kept}"


def rejected(why: Rejected, labels: Labels, typed: str = "") -> Json:
    """Why an action changed nothing."""
    sentence = words.note(why, view_of(why.ask) if why.ask else None, labels, _HOLE)
    who = names(why.ask.responders) if why.ask else ""
    return note(said(inert(sentence).replace(visible(_HOLE), who), typed, labels))


def names(responders: Sequence[str]) -> str:
    """The responders as mentions, which a private message shows by name and which notify nobody."""
    people = [who for who in responders if who != ANYONE][:_MOST_NAMED]
    return ", ".join(mention(who) for who in people)


def mention(who: str) -> str:
    """A responder as markdown: a user or ``@`` and a role."""
    number = who.removeprefix("@")
    if not (number.isascii() and number.isdigit()):
        return inert(who)
    return f"<@&{number}>" if who.startswith("@") else f"<@{number}>"


def mistakes(
    view: View, problems: Sequence[Problem], reopen: tuple[Verb, int], label: str, labels: Labels
) -> Json:
    """What is wrong with an entry, and a button that opens it again as it was entered."""
    lines = [
        inert(f"• {_where(problem)}{problem.message}") for problem in problems[:_MOST_PROBLEMS]
    ]
    content = "\n".join([f"**{inert(labels.mend)}**", *lines])
    verb, page = reopen
    return note(content, [button(view, label, verb, page, Style.PRIMARY)])


def _where(problem: Problem) -> str:
    """Where in a value a mistake is, unless the words say it or it is the whole."""
    path = problem.pointer.removeprefix("/value").strip("/")
    return f"{path}: " if "/" in path else ""


def next_page(view: View, verb: Verb, page: int, total: int, labels: Labels) -> Json:
    """A modal cannot follow a modal: a message with Continue stands between them."""
    where = labels.page_of.format(page=page + 1, pages=total)
    return note(inert(where), [button(view, labels.continue_, verb, page, Style.PRIMARY)])


def confirm_end_turn(view: View, labels: Labels) -> Json:
    """The second step of End Turn."""
    text = labels.end_turn_text.format(label=view.label)
    end = button(view, labels.end_turn, Verb.END_TURN, CONFIRMED, Style.DANGER)
    title, _ = shorten(labels.end_turn_title, 200)
    body, _ = shorten(text, 1_000)
    return note(f"**{title}**\n{body}", [end])


def taken(ask: Ask, labels: Labels) -> Json:
    """What a private message becomes once what it led to has counted."""
    view = view_of(ask)
    return note(f"☑ {inert(words.ending(view, labels) or labels.answered)}")


def retry(sentence: str, again: str, labels: Labels, typed: str = "") -> Json:
    """Nothing could be saved; a menu keeps what was picked and would not send it again, so a button does."""
    buttons = [c.button(fit(labels.answer, limits.BUTTON_LABEL), again)] if again else []
    return note(said(inert(sentence), typed, labels), buttons)


def elsewhere(where: str, labels: Labels) -> Json:
    """What a message becomes that is not the live one any more; ``where`` is an address of ours."""
    sentence = inert(labels.escalated.format(where=_HOLE))
    return c.message([c.text(sentence.replace(visible(_HOLE), where))])


def link(message: Mapping[str, JsonValue]) -> str:
    """The address of a live message: https://docs.discord.com/developers/reference#message-formatting."""
    guild = message.get("guild") or "@me"
    return f"https://discord.com/channels/{guild}/{message.get('channel')}/{message.get('id')}"

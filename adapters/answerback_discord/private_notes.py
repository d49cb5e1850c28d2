"""What one person is told or asked privately: notes, mistakes, the second step of End Turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.ports.surface import Rejected
from answerback_chat import text_fitting, wording
from answerback_chat.control_codec import Control, Verb, encode
from answerback_chat.sanitize import visible
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.markdown_text import escape, fit_button, fit_line, shorten, split_into_pages
from answerback_discord.mentions import mention
from answerback_discord.option_controls import button
from answerback_discord.parse import CONFIRMED, SURFACE

_ROOM: Final = limits.MESSAGE_TEXT - 100
_SENTENCE_ROOM: Final = 900
_WORDS_ROOM: Final = 2_800
_MOST_NAMED: Final = 10
_MOST_PROBLEMS: Final = 10
KEEP_GOING: Final = "no"
"""The argument of the End Turn control that ends nothing."""
_HOLE: Final = "\0"
"""Where markdown of ours goes in a sentence whose other parts are escaped."""


def note(content: str, buttons: Sequence[Json] = ()) -> Json:
    """A private message; ``content`` is markdown, with everything foreign in it escaped."""
    return c.message([c.text(text_fitting.shorten(content, _ROOM)), *c.rows(buttons)], private=True)


class TypedInput(NamedTuple):
    """What a person typed and nobody took, given back to be copied from there."""

    words: str
    entry: Control
    """What it was handed in by: its pages are turned by it."""

    def pages(self) -> list[str]:
        """All of it as markdown; none where nothing was typed."""
        return split_into_pages(self.words, _WORDS_ROOM)


def typed_input_note(entered: TypedInput, number: int, labels: Labels, sentence: str = "") -> Json:
    """A page of what was typed, below markdown of ours, with Previous and Next."""
    pages = entered.pages()
    if not pages:
        return note(sentence or escape(labels.not_found))
    number = number if 0 <= number < len(pages) else 0
    above = f"{text_fitting.shorten(sentence, _SENTENCE_ROOM)}\n" if sentence else ""
    parts = [c.text(f"{above}-# {escape(labels.entered)}\n>>> {pages[number]}")]
    if len(pages) > 1:
        where = labels.page_of.format(page=number + 1, pages=len(pages))
        parts.append(c.text(f"-# {escape(where)}"))
    turns = {number - 1: labels.previous, number + 1: labels.next}
    ask_id, revision, verb, _ = entered.entry
    buttons = [
        c.button(fit_button(label), encode(ask_id, revision, Verb.SHOW_IN_FULL, f"{verb}.{page}"))
        for page, label in turns.items()
        if 0 <= page < len(pages)
    ]
    return c.message([*parts, *c.rows(buttons)], private=True)


def rejection_note(
    why: Rejected,
    labels: Labels,
    reader: str | None = None,
    entered: TypedInput | None = None,
    copy: wording.ActedOnVersion | None = None,
) -> Json:
    """Why an action changed nothing.

    Args:
        reader: the id of the person who acted.
        entered: what they had typed.
        copy: what they acted on.
    """
    sentence = _sentence(why, labels, reader, copy)
    return typed_input_note(entered, 0, labels, sentence) if entered else note(sentence)


def rejection_text(why: Rejected, labels: Labels, reader: str) -> str:
    """Why words were not taken, as markdown, and where the question stands."""
    return _sentence(why, labels, reader) + (_way_to(why.ask) if why.ask else "")


def _sentence(
    why: Rejected, labels: Labels, reader: str | None, copy: wording.ActedOnVersion | None = None
) -> str:
    view = view_of(why.ask) if why.ask else None
    sentence = escape(wording.rejection_note(why, view, labels, _HOLE, reader, copy))
    return sentence.replace(visible(_HOLE), _named(why.ask.responders) if why.ask else "")


def _named(responders: Sequence[str]) -> str:
    more = ", …" if len(responders) > _MOST_NAMED else ""
    return mention_list(responders[:_MOST_NAMED]) + more


def mention_list(responders: Sequence[str]) -> str:
    """The responders as mentions, which notify nobody where that is not asked for."""
    return ", ".join(mention(who) for who in responders if who != ANYONE)


def reminder(who: Sequence[str], words: str, address: str) -> str:
    """The content of a reminder; it ends in the live message's address, by which it is found again."""
    named = f"{mention_list(who)} ".lstrip()
    room = limits.CONTENT - text_fitting.utf16_length(f"{named} {address}")
    return f"{named}{shorten(words, room)[0]} {address}"


def problems_note(
    view: View, problems: Sequence[Problem], reopen: tuple[Verb, int], label: str, labels: Labels
) -> Json:
    """What is wrong with an entry, and a button that opens it again as it was entered."""
    lines = [escape(f"• {problem.message}") for problem in problems[:_MOST_PROBLEMS]]
    content = "\n".join([f"**{escape(labels.please_fix)}**", *lines])
    verb, page = reopen
    return note(content, [button(view, label, verb, page, ButtonStyle.PRIMARY)])


def continue_note(view: View, verb: Verb, page: int, total: int, labels: Labels) -> Json:
    """A modal cannot follow a modal: a message with Continue stands between them."""
    where = labels.page_of.format(page=page + 1, pages=total)
    return note(escape(where), [button(view, labels.continue_, verb, page, ButtonStyle.PRIMARY)])


def confirm_end_turn(view: View, labels: Labels) -> Json:
    """The second step of End Turn."""
    text = labels.end_turn_text.format(label=view.label)
    end = button(view, labels.end_turn, Verb.END_TURN, CONFIRMED, ButtonStyle.DANGER)
    title, _ = shorten(labels.end_turn_title, 200)
    body, _ = shorten(text, 1_000)
    keep = button(view, labels.keep_going, Verb.END_TURN, KEEP_GOING)
    return note(f"**{title}**\n{body}", [keep, end])


def end_turn_declined_note(ask: Ask, labels: Labels) -> Json:
    """What that step becomes for who goes on: the way back to the question."""
    return note(f"{escape(labels.kept_going)}{_way_to(ask)}")


def action_taken_note(ask: Ask, labels: Labels) -> Json:
    """What a private message becomes once what it led to has counted, and where the questions go on."""
    done = escape(wording.ending(view_of(ask), labels) or labels.taken)
    return note(f"☑ {done}{_way_to(ask) if ask.open else ''}")


def _way_to(ask: Ask) -> str:
    return f" {message_url(ask.message)}" if ask.message and "id" in ask.message else ""


def retry_note(sentence: str, again: str, labels: Labels, typed: str = "") -> Json:
    """Nothing could be saved; a menu keeps what was picked and would not send it again, so a button does.

    What was typed is given back as far as one message holds it: further pages could not be kept.
    """
    buttons = [c.button(fit_line(labels.answer, limits.BUTTON_LABEL), again)] if again else []
    content = escape(sentence)
    if typed.strip():
        above = f"{content}\n-# {escape(labels.entered)}\n>>> "
        content = above + shorten(typed, _ROOM - text_fitting.utf16_length(above))[0]
    return note(content, buttons)


def moved_note(where: str, labels: Labels) -> Json:
    """What a message becomes that is not the live one any more; ``where`` is an address of ours."""
    sentence = escape(labels.escalated.format(where=_HOLE))
    return c.message([c.text(sentence.replace(visible(_HOLE), where))])


def destination_text(to: Destination) -> str:
    """Where an ask has gone whose message there is not known."""
    if to.surface != SURFACE:
        return escape(to.surface)
    return mention(to.user) if to.user else f"<#{to.thread or to.channel or ''}>"


def message_url(message: Mapping[str, JsonValue]) -> str:
    """The address of a live message: https://docs.discord.com/developers/reference#message-formatting."""
    guild = message.get("guild") or "@me"
    return f"https://discord.com/channels/{guild}/{message.get('channel')}/{message.get('id')}"

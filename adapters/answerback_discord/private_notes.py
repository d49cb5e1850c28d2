"""Render private messages to one person: notes, problems with an entry, the confirmation of End Turn. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Rejected
from answerback.presentation import text_fitting, wording
from answerback.presentation.attribution import fill
from answerback_chat import message_texts
from answerback_chat.control_codec import (
    CONFIRMED,
    KEEP_GOING,
    Control,
    Verb,
    command_control,
)
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.markdown_text import (
    escape,
    fit_button,
    fit_line,
    shorten,
    split_into_pages,
)
from answerback_discord.option_controls import button
from answerback_discord.parse import SURFACE
from answerback_discord.people_text import MARKUP, NOTE_MARKS, mention

_BUDGET: Final = limits.MESSAGE_TEXT - 100
_SENTENCE_BUDGET: Final = 900
_WORDS_BUDGET: Final = 2_800


def note(content: str, buttons: Sequence[Json] = ()) -> Json:
    """Render a private message; ``content`` is markdown in which all text that is not ours is escaped."""
    return c.message(
        [c.text(text_fitting.shorten(content, _BUDGET)), *c.rows(buttons)], private=True
    )


def command_note(answer: CommandAnswer) -> Json:
    buttons = [c.button(fit_button(each.label), command_control(each)) for each in answer.buttons]
    return note(escape(answer.text), buttons)


class TypedInput(NamedTuple):
    """A text that a person typed and that was not accepted, given back to them so that they can copy it."""

    text: str
    entry: Control
    """The control through which it was submitted; the buttons for its pages refer to it."""

    def pages(self) -> list[str]:
        """Return all of it as pages of markdown; none if nothing was typed."""
        return split_into_pages(self.text, _WORDS_BUDGET)


def typed_input_note(entered: TypedInput, number: int, labels: Labels, sentence: str = "") -> Json:
    """Render a page of what was typed, below a sentence of markdown, with Previous and Next."""
    pages = entered.pages()
    if not pages:
        return note(escape(labels.not_found))
    number = number if 0 <= number < len(pages) else 0
    above = f"{text_fitting.shorten(sentence, _SENTENCE_BUDGET)}\n" if sentence else ""
    parts = [c.text(f"{above}-# {escape(labels.entered)}\n>>> {pages[number]}")]
    if len(pages) > 1:
        where = labels.page_of.format(page=number + 1, pages=len(pages))
        parts.append(c.text(f"-# {escape(where)}"))
    turns = {number - 1: labels.previous, number + 1: labels.next}
    control, verb = entered.entry._replace(verb=Verb.SHOW_IN_FULL), entered.entry.verb
    buttons = [
        c.button(fit_button(label), control._replace(argument=f"{verb}.{page}").encode())
        for page, label in turns.items()
        if 0 <= page < len(pages)
    ]
    return c.message([*parts, *c.rows(buttons)], private=True)


def rejection_note(
    why: Rejected,
    labels: Labels,
    reader: str | None = None,
    entered: TypedInput | None = None,
    version: wording.ActedOnVersion | None = None,
) -> Json:
    """Render why an action changed nothing.

    Args:
        reader: the id of the person who acted.
        entered: what they had typed.
        version: the version of the message that they acted on.
    """
    sentence = wording.rejection_note(why, labels, NOTE_MARKS, reader, version)
    if entered is None or not entered.text.strip():
        return note(sentence)
    return typed_input_note(entered, 0, labels, fill(labels.not_sent, escape, reason=sentence))


def rejection_text(why: Rejected, labels: Labels, reader: str) -> str:
    """Return why a typed message was not accepted, as markdown, below the question and with a link to it."""
    sentence = wording.rejection_note(why, labels, NOTE_MARKS, reader)
    return message_texts.about_rejected(why, sentence, _link_to(why.ask) if why.ask else "", MARKUP)


def mention_list(responders: Sequence[str]) -> str:
    """Return the responders as mentions; they notify nobody unless `allowed_mentions` permits it."""
    return ", ".join(mention(who) for who in responders if who != ANYONE)


def reminder(who: Sequence[str], text: str, address: str) -> str:
    """Return the content of a reminder; it ends with the live message's URL, by which it is found again."""
    mentioned = f"{mention_list(who)} ".lstrip()
    budget = limits.CONTENT - text_fitting.utf16_length(f"{mentioned} {address}")
    return f"{mentioned}{shorten(text, budget)[0]} {address}"


def continue_note(view: View, verb: Verb, page: int, total: int, labels: Labels) -> Json:
    """Render the message with Continue between two modals, because a modal cannot open another."""
    where = labels.page_of.format(page=page + 1, pages=total)
    return note(escape(where), [button(view, labels.continue_, verb, page, ButtonStyle.PRIMARY)])


def confirm_end_turn(view: View, labels: Labels) -> Json:
    text = wording.end_turn_text(view.label, labels, deny=view.approval)
    label = labels.reply_and_end(deny=view.approval, plan=view.plan)[1]
    end = button(view, label, Verb.END_TURN, CONFIRMED, ButtonStyle.DANGER)
    title, _ = shorten(labels.end_turn_title, 200)
    body, _ = shorten(text, 1_000)
    keep = button(view, labels.keep_going, Verb.END_TURN, KEEP_GOING)
    return note(f"**{title}**\n{body}", [keep, end])


def end_turn_declined_note(ask: Ask, labels: Labels) -> Json:
    """Render what the confirmation becomes after Keep going: a link back to the question."""
    return note(f"{escape(labels.kept_going)}{_link_to(ask)}")


def action_taken_note(ask: Ask, labels: Labels) -> Json:
    """Render what a private message becomes after its action was applied, with a link to the open questions."""
    done = escape(wording.ending(view_of(ask), labels) or labels.taken)
    return note(f"☑ {done}{_link_to(ask) if ask.open else ''}")


def message_deleted_note(ask: Ask, labels: Labels) -> Json:
    """Render the response to an action that was applied while its message was being deleted."""
    return note(f"☑ {escape(wording.ending(view_of(ask), labels) or labels.taken_elsewhere)}")


def _link_to(ask: Ask) -> str:
    return (
        f" {message_url(ask.placement.message)}"
        if ask.placement.message and "id" in ask.placement.message
        else ""
    )


def retry_note(sentence: str, again: str, labels: Labels, typed: str = "") -> Json:
    """Render a request to try again, because nothing could be saved.

    A picked option is offered as a button, since a menu would not send it again. What was typed is given back as far
    as it fits one message, since further pages could not be stored.
    """
    buttons = [c.button(fit_line(labels.answer, limits.BUTTON_LABEL), again)] if again else []
    content = escape(sentence)
    if typed.strip():
        above = f"{content}\n-# {escape(labels.entered)}\n>>> "
        content = above + shorten(typed, _BUDGET - text_fitting.utf16_length(above))[0]
    return note(content, buttons)


def moved_text(ask: Ask, labels: Labels) -> str:
    """Return where an ask is now that has moved, as markdown: a link to its message, or else its destination."""
    shown = ask.placement.destination.surface == SURFACE and "id" in (ask.placement.message or {})
    where = (
        message_url(ask.placement.message or {})
        if shown
        else destination_text(ask.placement.destination, labels)
    )
    return fill(labels.escalated, escape, where=where)


def moved_message(to: Destination, labels: Labels) -> Json:
    """Render what a former live message becomes."""
    return c.message([c.text(fill(labels.escalated, escape, where=destination_text(to, labels)))])


def destination_text(to: Destination, labels: Labels) -> str:
    """Describe the destination of a moved ask whose new message is not known."""
    if to.surface != SURFACE:
        return escape(wording.surface_name(to.surface, labels))
    return mention(to.user) if to.user else f"<#{to.thread or to.channel or ''}>"


def message_url(message: Mapping[str, JsonValue]) -> str:
    """Return the URL of a live message: https://docs.discord.com/developers/reference#message-formatting."""
    guild = message.get("guild") or "@me"
    return f"https://discord.com/channels/{guild}/{message.get('channel')}/{message.get('id')}"

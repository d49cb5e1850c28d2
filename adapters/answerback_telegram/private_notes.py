"""The notes to one person: in the answer to their click, which only they see, or below their message. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Rejected
from answerback.presentation import text_fitting, wording
from answerback.presentation.attribution import fill
from answerback_base.sanitize import visible
from answerback_chat import message_texts
from answerback_chat.control_codec import CONFIRMED, KEEP_GOING, Verb, command_control
from answerback_telegram import keyboards, limits
from answerback_telegram.html_text import escape, shorten
from answerback_telegram.keyboards import Json, button
from answerback_telegram.parse import SURFACE, message_id
from answerback_telegram.people_text import MARKS, MARKUP, Names, marks
from answerback_telegram.render import compose


def click_note(text: str) -> str:
    """Fit a text to the answer to a click."""
    return text_fitting.shorten(visible(text), limits.CALLBACK_ANSWER)


def command_note(answer: CommandAnswer) -> Json:
    text, _ = shorten(answer.text, limits.MESSAGE_TEXT)
    buttons = [keyboards.data_button(each.label, command_control(each)) for each in answer.buttons]
    return compose([text], keyboards.rows(buttons))


def rejection_text(why: Rejected, labels: Labels, reader: str, names: Names) -> str:
    """Return why a typed message was not accepted, as HTML, below the question and with a link to it."""
    sentence = wording.rejection_note(why, labels, marks(names), reader)
    return message_texts.about_rejected(why, sentence, link_to(why.ask) if why.ask else "", MARKUP)


def confirm_end_turn(view: View, labels: Labels) -> Json:
    text = wording.end_turn_text(view.label, labels, deny=view.approval)
    keep = button(view, labels.keep_going, Verb.END_TURN, KEEP_GOING)
    label = labels.reply_and_end(deny=view.approval, plan=view.plan)[1]
    end = button(view, label, Verb.END_TURN, CONFIRMED, keyboards.DANGER)
    title = shorten(labels.end_turn_title, 200, "b")[0]
    return compose([f"{title}\n{shorten(text, 1_000)[0]}"], [[keep, end]])


def moved_text(ask: Ask, labels: Labels, names: Names) -> str:
    """Return where an ask is now that has moved, as HTML."""
    url = (
        message_url(ask.placement.message or {})
        if ask.placement.destination.surface == SURFACE
        else None
    )
    where = url or destination_text(ask.placement.destination, labels, names)
    return fill(labels.escalated, escape, where=where)


def moved_message(to: Destination, labels: Labels, names: Names) -> Json:
    """Render what a former live message becomes."""
    return compose([fill(labels.escalated, escape, where=destination_text(to, labels, names))], [])


def destination_text(to: Destination, labels: Labels, names: Names) -> str:
    """Describe the destination of an ask by the name of its chat if that is known, as HTML."""
    name = names.get(chat_of(to)) if to.surface == SURFACE else None
    return escape(name or wording.surface_name(to.surface, labels))


def chat_of(to: Destination) -> str:
    """Return the id of the chat that a destination names; a chat with one person has that person's id."""
    return to.user or to.channel or ""


def reminder(view: View, who: str, text: str, labels: Labels) -> Json:
    """Render a reminder.

    Args:
        who: the responders as links that notify them.
    """
    about = shorten(wording.subject(view, labels), 300, "b")[0]
    return compose([f"{f'{who} ' if who else ''}{escape(text)}\n{about}"], [])


def closed_reminder(ask: Ask, labels: Labels) -> Json:
    """Render what a reminder becomes once the ask has ended."""
    return compose([wording.ending_with_person(view_of(ask), labels, MARKS)], [])


def link_to(ask: Ask) -> str:
    """Return a link to an ask's live message, with a blank before it; empty if there is none."""
    url = message_url(ask.placement.message or {})
    return f" {url}" if url else ""


def message_url(message: Mapping[str, JsonValue]) -> str | None:
    """Return the URL of a message in a supergroup; others have none: https://core.telegram.org/api/links"""
    channel, number = str(message.get("channel", "")), message_id(message.get("id"))
    if number is None or not channel.startswith("-100"):
        return None
    topic = message.get("thread")
    return f"https://t.me/c/{channel[4:]}/{f'{topic}/' if topic else ''}{number}"

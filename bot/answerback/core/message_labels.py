"""The texts about messages that are no plain answer: commands, edits, files. A part of `answerback.core.labels`."""

from __future__ import annotations

from pydantic import ConfigDict

from answerback.core.person import FrozenModel


class MessageLabels(FrozenModel):
    """The texts that only chats need: replies to commands, edits, forwards and files, and others."""

    model_config = ConfigDict(defer_build=True)
    """Only `Labels`, which has them all, is used."""

    administrators: str = "the administrators of {group}"
    files_on_page: str = "Sent with this, and shown on its page: {names}"
    picture_here: str = "Picture {number}: {name}"
    only_picture_here: str = "Picture: {name}"
    sent_files: str = "With it: {names}"
    files_left_out: str = (
        "Your text was used. What you sent with it, such as a picture or a file, was not passed on."
    )
    files_refused: str = "Your message was not used: {reason}"
    file_not_read: str = (
        "{name} could not be read from {platform}: {reason}. Send it again, or write without files."
    )
    file_took_too_long: str = "it took too long"
    file_too_late: str = (
        "This file came after the rest was used, and was not passed on. Send it in a new message."
    )
    forward_not_read: str = (
        "A forwarded message is not an answer: write your answer in a message of your own."
    )
    edit_not_read: str = (
        "Your edit changed nothing: a message is read once. Write a new one, or use the controls to change an "
        "answer."
    )
    how_to_answer: str = (
        "Press the buttons below a question, or reply to it with your answer. /inbox lists what waits for you, and "
        "/cancel closes a request to write something."
    )
    unknown_command: str = (
        "{command} was not used: this bot has no such command. To answer with a text that begins with a slash, write a "
        "word before it."
    )
    request_lost: str = (
        "Your message was not used: the request that you replied to is no longer open. Press the button below the "
        "question again, or reply to the question itself."
    )
    cannot_write: str = (
        "This needs a message from you, but Answerback could not ask for it: {reason}"
    )
    nothing_to_cancel: str = (
        "Nothing waits for a message from you here, so there is nothing to cancel."
    )
    help_command: str = "How to answer questions"
    cancel_command: str = "Close the request to write something"

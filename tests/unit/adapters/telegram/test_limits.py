"""Each of Telegram's limits at its edge."""

from __future__ import annotations

from typing import Any

import pytest
from telegram.constants import (
    BotCommandLimit,
    CallbackQueryLimit,
    FileSizeLimit,
    FloodLimit,
    InlineKeyboardButtonLimit,
    MediaGroupLimit,
    MessageLimit,
)

from answerback.core.files import AttachedFile
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat.control_codec import Verb
from answerback_telegram import (
    inbox_view,
    keyboards,
    picture_kinds,
    pictures,
    private_notes,
    render,
)
from answerback_telegram.api_client import windows
from answerback_telegram.rich_messages import RICH
from tests.limit_edges import edge
from tests.unit.adapters.all_surfaces import asked

pytestmark = pytest.mark.rule("TELEGRAM-2")


@edge("MESSAGE_TEXT")
def test_the_text_of_a_message() -> None:
    assert render.STYLE.budget + 150 == MessageLimit.MAX_TEXT_LENGTH


@edge("ENTITIES")
def test_the_marks_of_a_message() -> None:
    for count, kept in ((100, True), (101, False)):
        text = str(render.compose(["<b>x</b>" * count], [])["text"])
        assert text.startswith("<b>" if kept else "<pre>")


@edge("CALLBACK_DATA")
def test_the_data_of_a_button() -> None:
    made = keyboards.control_button(f"ask_{'a' * 18}", 1, "Back", Verb.BACK, "b" * 30)
    assert len(str(made["callback_data"])) == InlineKeyboardButtonLimit.MAX_CALLBACK_DATA
    try:
        keyboards.control_button(f"ask_{'a' * 19}", 1, "Back", Verb.BACK, "b" * 30)
    except ValueError:
        return
    raise AssertionError("it is too long")


@edge("CALLBACK_ANSWER")
def test_the_answer_to_a_click() -> None:
    most = int(CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH)
    for length, kept in ((most, True), (most + 1, False)):
        note = private_notes.click_note("x" * length)
        assert (note == "x" * length, len(note)) == (kept, most)


@edge("COMMAND_DESCRIPTION")
def test_the_description_of_a_command() -> None:
    names = ("inbox_command", "cancel_command", "help_command", "commands")
    labels = Labels.model_validate(dict.fromkeys(names, "x" * 1_000))
    assert len(inbox_view.commands(labels, offered=False)) == 3
    for command in inbox_view.commands(labels, offered=True):
        assert isinstance(command, dict)
        assert len(str(command["description"])) == BotCommandLimit.MAX_DESCRIPTION


@edge("PER_SECOND", "GROUP_PER_MINUTE")
def test_the_number_of_messages() -> None:
    everywhere = ("", FloodLimit.MESSAGES_PER_SECOND, 1.0)
    assert windows("5") == (everywhere,)
    assert windows("-5") == (everywhere, ("-5", FloodLimit.MESSAGES_PER_MINUTE_PER_GROUP, 60.0))


@edge("RICH_TEXT")
def test_the_text_of_a_rich_message() -> None:
    assert RICH.style.budget + 1_000 == 32_768


@edge("RICH_BLOCKS")
def test_the_blocks_of_a_rich_message() -> None:
    for count, kept in ((500, True), (501, False)):
        fields = RICH.compose(["x"] * count, [])
        html = str(fields["rich_message"]["html"])  # type: ignore[call-overload, index]
        assert html.startswith("<p>" if kept else "<pre>")


@edge("RICH_COLUMNS")
def test_the_columns_of_a_table() -> None:
    for count, kept in ((20, True), (21, False)):
        table = "\n".join("|" + f" {cell} |" * count for cell in ("x", "-", "y"))
        question = {"id": "a", "text": "Go?", "answer_type": "boolean", "context": table}
        prompt = view_of(asked({"name": "ask_user", "arguments": {"questions": [question]}})).prompt
        assert prompt is not None
        shown = RICH.style.context.render_context(prompt, 10_000).text
        assert shown.startswith("<table>" if kept else "<pre>")


def _picture(**about: Any) -> AttachedFile:
    known = {"media_type": "image/png", "bytes": 1, "width": 9, "height": 9}
    return AttachedFile(**{"id": "f", "name": "a.png", "sha256": "0", **known, **about})


@edge("PHOTO_BYTES")
def test_the_bytes_of_a_photo() -> None:
    most = int(FileSizeLimit.PHOTOSIZE_UPLOAD)
    kinds = [picture_kinds.kind_of(_picture(bytes=size)) for size in (most, most + 1)]
    assert kinds == ["photo", "document"]


@edge("PHOTO_SIDES")
def test_the_sides_of_a_photo() -> None:
    kinds = [picture_kinds.kind_of(_picture(width=5_000, height=side)) for side in (5_000, 5_001)]
    assert kinds == ["photo", "document"]


@edge("PHOTO_RATIO")
def test_the_ratio_of_a_photo() -> None:
    for sides in (("width", "height"), ("height", "width")):
        shapes = [dict(zip(sides, pair, strict=True)) for pair in ((10, 200), (10, 201))]
        assert [picture_kinds.kind_of(_picture(**each)) for each in shapes] == ["photo", "document"]


@edge("ALBUM")
def test_the_files_of_an_album() -> None:
    most = int(MediaGroupLimit.MAX_MEDIA_LENGTH)
    files = [_picture(id=str(n)) for n in range(most + 1)]
    assert [len(each.files) for each in pictures.batches_of(files)] == [most, 1]


@edge("CAPTION")
def test_the_words_of_a_picture() -> None:
    one = pictures.caption_of([_picture(alt="x" * 2_000)], {"f": 1})["caption"]
    assert len(str(one)) == int(MessageLimit.CAPTION_LENGTH) - len("10. \n")

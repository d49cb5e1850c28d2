"""The files that a person attaches to what they send from the page: uploaded in chunks before, named by the form."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.core.answer_files import takes_files
from answerback.core.errors import ProblemError
from answerback.core.files import MAX_FILE, AttachedFile, size_in_words
from answerback.core.form import AnswerType, Question
from answerback.core.intents import ResolvedAction, WithFiles
from answerback.core.person import Person
from answerback.core.view import Control, View
from answerback.ports.files import CHUNK, PeopleFiles
from answerback_base.sanitize import one_line
from answerback_web import responses
from answerback_web.posts import Post

FIELD: Final = "file"
"""The name of the hidden inputs that name a form's files."""
PART: Final = "data"
"""The field that a form has if it is part of an upload."""


@dataclass(frozen=True, slots=True)
class AttachedItem:
    """A file in a form: ``value`` is what it sends, which names it on a page that is shown again."""

    value: str
    name: str
    size: str


@dataclass(frozen=True, slots=True)
class AttachPart:
    """Where files are attached, and those that are already."""

    items: tuple[AttachedItem, ...]
    in_more: bool
    """True if files go with a message or a note alone: then they are attached where these are written, below "More"."""
    chunk: int = CHUNK
    most: int = MAX_FILE


def item_of(file: AttachedFile) -> AttachedItem:
    return _item(f"{file.id} {file.bytes} {file.name}")


def _item(value: str) -> AttachedItem:
    _, _, rest = value.partition(" ")
    size, _, name = rest.partition(" ")
    is_size = size.isascii() and size.isdecimal() and len(size) < 10
    return AttachedItem(value, one_line(name), size_in_words(int(size)) if is_size else "")


def attach_part(view: View, post: Post | None, *, notes_in_more: bool) -> AttachPart | None:
    """Return where a page takes files; None where nothing takes any.

    Args:
        notes_in_more: true if a note is written below "More", as with a permission.
    """
    prompt = view.prompt
    takes = {Control.REPLY, Control.OBJECT} & {*view.controls} or (
        prompt is not None and takes_files(prompt.question, own_words=prompt.question.other)
    )
    if view.outcome is not None or not takes:
        return None
    in_more = prompt is None or not _is_written(prompt.question, notes_in_more)
    if post is not None:
        return AttachPart(tuple(map(_item, post.all_values(FIELD))), in_more)
    again = prompt.again.files if prompt is not None and prompt.again is not None else ()
    return AttachPart(tuple(map(item_of, again)), in_more)


def _is_written(question: Question, notes_in_more: bool) -> bool:
    """Return True if people write an answer to a question, or may add to it below its choices."""
    is_text = question.other or question.answer_type is AnswerType.TEXT
    return is_text or (question.notes and not notes_in_more)


async def with_files(
    action: ResolvedAction, post: Post, files: PeopleFiles, person: Person, ask_id: str
) -> ResolvedAction:
    """Return an action with the files that its form names.

    Raises:
        ProblemError: 422 if one of them is not there any more, or if this action takes none.
    """
    ids = [value.partition(" ")[0] for value in post.all_values(FIELD)]
    if not ids or not isinstance(action, WithFiles):
        return action
    return replace(action, files=await files.find(ids, person, ask_id))


async def take_chunk(post: Post, files: PeopleFiles, person: Person) -> web.Response:
    """Take a part of an upload; the answer is JSON: its id, the file once all is there, or why it is refused."""
    try:
        return responses.json_response(await _take(post, files, person))
    except ProblemError as error:
        return responses.json_response({"refused": error.detail or error.title})


async def _take(post: Post, files: PeopleFiles, person: Person) -> JsonValue:
    upload_id = post.first("upload") or await files.begin(person)
    number = post.first("n")
    if not (number.isascii() and number.isdecimal() and len(number) < 5):
        raise ProblemError(422, "This is not part of an upload.")
    try:
        data = base64.b64decode(post.first(PART), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ProblemError(422, "This is not part of an upload.") from None
    if data:
        await files.add_chunk(upload_id, int(number), data)
    if "name" not in post.fields:
        return {"upload": upload_id}
    file = await files.finish(upload_id, person, post.first("name"), int(number) + 1)
    item = item_of(file)
    return {"value": item.value, "name": item.name, "size": item.size}

"""The files that people have sent with the answers and the reply of an ask. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from answerback.core.files import AttachedFile
from answerback.core.person import Person
from answerback.core.walker import Walk


class SentFile(NamedTuple):
    """A file that a person sent; ``question_id`` is None for one that came with a reply."""

    question_id: str | None
    file: AttachedFile
    by: Person | None


def sent_files(walk: Walk) -> Iterator[SentFile]:
    """Yield the files of a walk's answers and of its reply, in the form's order."""
    for given in walk.answers:
        for file in given.files:
            yield SentFile(given.question_id, file, given.by)
    for file in walk.reply_files:
        yield SentFile(None, file, walk.replied_by)


class FileChanges(NamedTuple):
    """The ids of the files that an ask gets with a change, and of those that it loses."""

    claimed: tuple[str, ...]
    dropped: tuple[str, ...]


def changed_files(before: Walk, after: Walk) -> FileChanges:
    """Return which files an ask gets, and which it loses, because nothing of it names them any more."""
    was, now = before.file_ids, after.file_ids
    return FileChanges(
        tuple(each for each in now if each not in was),
        tuple(each for each in was if each not in now),
    )

"""Files as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing_extensions import TypedDict

from answerback.core.files import AttachedFile
from answerback.core.sent_files import SentFile
from answerback.service.people_wire import PersonBody, person_body, strict


@strict
class UploadedFileBody(TypedDict):
    """A file that an ask can name."""

    id: str
    name: str
    """Without folders, with every character visible: how contexts refer to it."""
    media_type: str
    """The type by its bytes: `image/png`, `image/jpeg`, `image/gif` or `image/webp`, or else
    `application/octet-stream`."""
    bytes: int
    sha256: str
    """In hexadecimal."""


@strict
class FileBody(UploadedFileBody):
    """A file of an ask."""

    alt: str | None
    """Alternative text, shown where the file is not."""


@strict
class AnswerFileBody(UploadedFileBody):
    """A file that a person sent."""

    question_id: str | None
    """The question whose answer it came with; null: it came with a reply."""
    by: PersonBody | None


def uploaded_file_body(file: AttachedFile) -> UploadedFileBody:
    return {
        "id": file.id,
        "name": file.name,
        "media_type": file.media_type,
        "bytes": file.bytes,
        "sha256": file.sha256,
    }


def file_bodies(files: Sequence[AttachedFile]) -> list[FileBody]:
    return [{**uploaded_file_body(each), "alt": each.alt} for each in files]


def answer_file_bodies(sent: Iterable[SentFile]) -> list[AnswerFileBody]:
    return [
        {
            "question_id": each.question_id,
            **uploaded_file_body(each.file),
            "by": person_body(each.by),
        }
        for each in sent
    ]

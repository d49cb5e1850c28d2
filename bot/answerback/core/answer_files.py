"""Which files people may send with their answers, own words, notes and replies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from answerback.core.errors import Problem
from answerback.core.files import MAX_BYTES, MAX_FILES, AttachedFile
from answerback.core.form import AnswerType, Question
from answerback.core.given_answer import GivenAnswer
from answerback.core.refusals import Refusal

TAKES_NO_FILES: Final = Refusal(
    "takes_no_files",
    "Files cannot go with this answer. Send them with your own words or with a message, or remove them.",
    "/files",
)
_TOO_MANY: Final = Refusal(
    "too_many_files", "At most {} files can be sent with the answers of one ask.", "/files"
)
_TOO_LARGE: Final = Refusal(
    "files_too_large", "The files of all answers may have at most {} MB together.", "/files"
)
FILE_REFUSED: Final = Refusal("file_refused", "{}", "/files")
"""Why a file itself is refused."""
_TWICE: Final = Refusal("file_sent_twice", "A file is sent with another answer already.", "/files")


def takes_files(question: Question, *, own_words: bool) -> bool:
    """True if an answer to a question can come with files: it is a text, or may come with one.

    Args:
        own_words: true if it is "Something else…".
    """
    return own_words or question.notes or question.answer_type is AnswerType.TEXT


def refuse_files(
    files: tuple[AttachedFile, ...],
    answers: Iterable[GivenAnswer],
    question: Question | None,
    *,
    own_words: bool,
) -> Problem | None:
    """Return why files cannot go with an answer; None if they can.

    Args:
        answers: those of the ask so far.
        question: what is answered; None: it is a reply.
    """
    if question is not None and not takes_files(question, own_words=own_words):
        return TAKES_NO_FILES.problem()
    others = [
        each
        for given in answers
        if question is None or given.question_id != question.id
        for each in given.files
    ]
    whole = [*others, *files]
    if len({each.id for each in whole}) < len(whole):
        return _TWICE.problem()
    return refuse_sizes([each.bytes for each in whole])


def refuse_sizes(sizes: Sequence[int]) -> Problem | None:
    """Return why the answers of an ask cannot come with files of so many bytes; None if they can."""
    if len(sizes) > MAX_FILES:
        return _TOO_MANY.problem(str(MAX_FILES))
    if sum(sizes) > MAX_BYTES:
        return _TOO_LARGE.problem(str(MAX_BYTES // 1024**2))
    return None

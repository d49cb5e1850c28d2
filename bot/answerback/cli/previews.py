"""Renders a form for each surface, without asking anyone."""

from __future__ import annotations

import base64
import re
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import jinja2
from markupsafe import Markup
from pydantic import JsonValue

from answerback.cli.validate import validate_submission
from answerback.core.ask import ANYONE, Ask, Placement, Request, Schedule
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType, Question, When
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import GivenAnswer, Phase, Walk, start
from answerback.runtime.plugins import installed_plugins
from answerback.service.files import Attachments, read_inline
from answerback.service.submission_request import Submission
from answerback_agents.cli.output import fail, say, warn
from answerback_base.sanitize import as_json, one_line
from answerback_base.strict_json import json_equal

_TEMPLATE: Final = Path(__file__).with_name("preview.html")
_PICTURE: Final = re.compile(r"""(?<=src=)("|&#34;)cid:(file_[0-9a-f]+)""")
"""The address of a picture, which a document within an attribute has escaped; see `picture_address`."""


class SurfacePreview(NamedTuple):
    """One prompt on one surface."""

    surface: str
    html: Markup
    json: str
    hint: str


class PromptPreview(NamedTuple):
    """One prompt of a form, or its review."""

    title: str
    looks: tuple[SurfacePreview, ...]


class FormPreview(NamedTuple):
    """A form as it would be asked."""

    asks: tuple[Ask, ...]
    """The ask at each of its prompts, including conditional ones, and at its review."""
    pictures: Mapping[str, str]
    """The data URIs of its pictures, by the ids of the files."""


def preview_form(submission: Submission) -> FormPreview:
    """Return what a submission would ask.

    Files that it names by their ids are left out: only a service has those.

    Raises:
        InvalidCallError: with what is wrong.
    """
    call, planned = validate_submission(submission)
    attached = read_inline(submission.files)
    if not isinstance(attached, Attachments):
        raise InvalidCallError(submission.name, attached, call.dialect)
    form = call.form
    request = Request(
        name=submission.name,
        dialect=call.dialect,
        arguments=call.arguments,
        repaired=call.repaired,
        form=form.model_copy(update={"context_format": planned.context_format}),
        accepts=submission.accepts,
        files=attached.files,
    )
    seconds = planned.expires_in
    ask = Ask(
        id="ask_preview",
        created_at=0.0,
        updated_at=0.0,
        request=request,
        placement=Placement(
            destination=planned.destination, responders=planned.responders or (ANYONE,)
        ),
        walk=start(form),
        schedule=Schedule(expires_at=None if seconds is None else time.time() + seconds),
    )
    return FormPreview(tuple(_prompt_states(ask)), _data_uris(attached))


def _data_uris(attached: Attachments) -> dict[str, str]:
    """Return the pictures among files as data URIs, whose type is that of the bytes."""
    return {
        each.id: f"data:{each.media_type};base64,{base64.b64encode(attached.inline[each.id]).decode()}"
        for each in attached.files
        if each.is_picture
    }


def _prompt_states(ask: Ask) -> Iterator[Ask]:
    form = ask.form
    for at, question in enumerate(form.questions):
        given = _sample_answers(form.questions[:at], question.when)
        yield replace(ask, walk=replace(ask.walk, at=at, answers=given))
    if form.review and len(form.questions) > 1:
        yield replace(ask, walk=Walk(phase=Phase.REVIEW, answers=_sample_answers(form.questions)))


def _sample_answers(
    questions: Sequence[Question], wanted: When | None = None
) -> tuple[GivenAnswer, ...]:
    """Return answers to those of the questions that are asked then.

    Args:
        wanted: the condition of the question that comes next.
    """
    answers: dict[str, JsonValue] = {}
    for question in questions:
        when = question.when
        if when is None or json_equal(answers.get(when.question_id), when.equals):
            is_wanted = wanted is not None and wanted.question_id == question.id
            expected = wanted.equals if wanted is not None and is_wanted else None
            answers[question.id] = _sample_answer(question) if expected is None else expected
    return tuple(GivenAnswer(question_id=key, value=value) for key, value in answers.items())


def _sample_answer(question: Question) -> JsonValue:
    """An answer that looks like those that people give."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return True
        case AnswerType.SELECT:
            return question.options[0].value
        case AnswerType.MULTI_SELECT:
            return [question.options[0].value]
        case AnswerType.TEXT:
            return "…"
        case AnswerType.SCHEMA:
            return {}


def write_page(
    form: str, previewed: FormPreview, labels: Labels, path: Path | None, *, open_page: bool
) -> None:
    """Write a page with the form on every surface; without a path, to a temporary file."""
    page = jinja2.Environment(autoescape=True).from_string(_TEMPLATE.read_text("utf-8"))
    steps = [_preview_prompt(ask, labels, previewed.pictures) for ask in previewed.asks]
    text = page.render(title=Path(form).name, steps=steps)
    if path is None:
        with tempfile.NamedTemporaryFile("wb", suffix=".html", delete=False) as file:
            path = Path(file.name)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        fail(f"Cannot write {path}: {error.strerror}.")
    say(f"Wrote the previews to {path}.")
    if open_page and not webbrowser.open(path.absolute().as_uri()):
        warn("No browser was found to open it with.")


def _drawn(found: re.Match[str], pictures: Mapping[str, str]) -> str:
    """Return the address of a picture's bytes; a text that only looks like a picture's address stays."""
    uri = pictures.get(found[2])
    return found[0] if uri is None else found[1] + uri


def _preview_prompt(ask: Ask, labels: Labels, pictures: Mapping[str, str]) -> PromptPreview:
    prompt = view_of(ask, labels).prompt
    title = f"{prompt.progress or ''} {prompt.question.id}" if prompt else labels.review_title
    looks = []
    for plugin in installed_plugins():
        if (preview := plugin.preview(ask, labels)) is not None:
            source = preview.payload if preview.source is None else preview.source
            html = _PICTURE.sub(lambda found: _drawn(found, pictures), preview.html)
            looks.append(SurfacePreview(plugin.title, Markup(html), as_json(source), preview.hint))
    return PromptPreview(title=one_line(title), looks=tuple(looks))

"""``answerback preview``: how each surface will show a form, without asking anybody."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import jinja2
import typer
from markupsafe import Markup

from answerback.cli import looks
from answerback.cli.forms import EXIT_INVALID, FORM_HELP, lines_of, read_call
from answerback.cli.output import fail, result, say, warn
from answerback.cli.prompting import Prompting
from answerback.core.ask import Ask, Change, Destination, Request, acted
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.core.walker import Answer, start
from answerback.dialects.registry import parse_call
from answerback.runtime.config_file import load
from answerback.service.serialize import ask_json
from answerback.service.submission import Submission, read_submission
from answerback_chat.sanitize import as_json, one_line
from answerback_discord import render as discord
from answerback_slack import render as slack

_PAGE: Final = Path(__file__).with_name("preview.html")


class Where(StrEnum):
    """What can be previewed by itself."""

    TERMINAL = "terminal"
    SLACK = "slack"
    DISCORD = "discord"


@dataclass(frozen=True, slots=True)
class Look:
    """One prompt on one surface."""

    surface: str
    html: Markup
    json: str


@dataclass(frozen=True, slots=True)
class Step:
    """One prompt of a form, or its review."""

    title: str
    looks: tuple[Look, ...]


def command(
    form: Annotated[str, typer.Argument(help=FORM_HELP)],
    surface: Annotated[
        Where, typer.Option(help="slack and discord print the JSON that is sent there.")
    ] = Where.TERMINAL,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with both platforms' looks and the JSON.")
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser.")
    ] = False,
) -> None:
    """Show how each surface will render a form; nobody is asked, and no service is needed.

    Example: `answerback preview migration.json --html preview.html`

    Exits with 2 when the form cannot be asked.
    """
    labels = load().labels
    try:
        shown = list(_steps(read_submission(read_call(form))))
    except InvalidCallError as error:
        for line in lines_of(error.problems):
            warn(line)
        sys.exit(EXIT_INVALID)
    if html is not None or open_page:
        _page(form, shown, labels, html, open_page=open_page)
    elif surface is Where.TERMINAL:
        prompting = Prompting(labels)
        for ask in shown:
            prompting.show(ask_json(ask))
    else:
        result(as_json([_payload(surface, view_of(ask), labels) for ask in shown]))


def _steps(submission: Submission) -> Iterator[Ask]:
    """The ask at each of its prompts, gated ones too, and at its review."""
    dialect, form = parse_call(submission.name, submission.arguments, submission.dialect)
    request = Request(
        name=submission.name, dialect=dialect, arguments=submission.arguments, form=form
    )
    ask = Ask(
        id="ask_preview",
        created_at=0.0,
        updated_at=0.0,
        request=request,
        destination=Destination(surface="preview"),
        responders=("anyone",),
        walk=start(form),
    )
    for at in range(len(form.questions)):
        yield replace(ask, walk=replace(ask.walk, at=at))
    if form.review and len(form.questions) > 1:
        yield _at_review(ask)


def _at_review(ask: Ask) -> Ask:
    """The ask with its first options chosen; forms with a review have nothing but choices."""
    while (question := ask.question) is not None:
        first = question.options[0].value
        many = question.answer_type is AnswerType.MULTI_SELECT
        change = acted(ask, Answer(value=[first] if many else first), at=0.0, by=None)
        if not isinstance(change, Change):
            raise AssertionError(f"the first option answers {question.id}")  # noqa: TRY004 - our own promise
        ask = change.ask
    return ask


def _payload(where: Where, view: View, labels: Labels) -> object:
    if where is Where.SLACK:
        message = slack.render(view, labels)
        return {"text": message.text, "blocks": message.blocks}
    return discord.message(view, labels)


def _page(
    form: str, shown: list[Ask], labels: Labels, path: Path | None, *, open_page: bool
) -> None:
    page = jinja2.Environment(autoescape=True).from_string(_PAGE.read_text("utf-8"))
    text = page.render(title=form, steps=[_step(view_of(ask), labels) for ask in shown])
    if path is None:
        with tempfile.NamedTemporaryFile("wb", suffix=".html", delete=False) as file:
            path = Path(file.name)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}.")
    say(f"Written to {path}.")
    if open_page and not webbrowser.open(path.absolute().as_uri()):
        warn("There is no browser to open it with.")


def _step(view: View, labels: Labels) -> Step:
    sent = slack.render(view, labels)
    message = discord.message(view, labels)
    prompt = view.prompt
    title = f"{prompt.progress or ''} {prompt.question.id}" if prompt else labels.review_title
    return Step(
        title=one_line(title),
        looks=(
            Look("Slack", looks.slack(sent.blocks), as_json({"blocks": sent.blocks})),
            Look("Discord", looks.discord(message), as_json(message)),
        ),
    )

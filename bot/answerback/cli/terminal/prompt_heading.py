"""The lines that a prompt in the terminal shows above its choices. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from answerback.cli.terminal import answer_keys, people_text, question_context
from answerback.cli.terminal.answer_keys import Json
from answerback.cli.terminal.terminal_output import BOLD, DIM, Fragments, text_line
from answerback.core.files import size_in_words
from answerback.core.labels import Labels
from answerback.core.urgency import Urgency
from answerback.presentation.wording import sentence, urgency_text
from answerback_agents.cli.ask_output import get_dicts
from answerback_base.sanitize import one_line


def render(
    ask: Json, prompt: Json, asker: str, labels: Labels, *, is_first: bool
) -> Iterator[Fragments]:
    """Yield who asks, the earlier answers, the context and the question.

    Args:
        is_first: whether this is the first prompt that is shown: it also has the earlier answers.
    """
    prompt = question_context.with_pictures_in_words(ask, prompt, labels)
    yield []
    asks = labels.asks if ask["waiting"] else labels.asked_unattended
    yield [*_marks(ask, labels), *text_line(sentence(asks, asker, labels), DIM)]
    if audience := people_text.audience(ask, labels):
        yield text_line(audience, DIM)
    if prompt["kind"] == "question" and is_first:
        earlier = answer_keys.earlier_answers(ask, prompt, labels)
        yield from (text_line(line, DIM) for line in earlier)
    for option in get_dicts(prompt, "options"):
        if option.get("preview"):
            yield text_line(f"{option['label']}:", DIM)
            yield text_line(str(option["preview"]))
    if prompt.get("context"):
        yield from question_context.render_context(prompt)
        yield []
    for file in get_dicts(ask, "files"):
        named, size = file["alt"] or file["name"], size_in_words(int(str(file["bytes"])))
        about = str(file["name"]) if named == file["name"] else f"{named} ({file['name']})"
        thread = ask.get("thread")
        url = thread.get("url") if isinstance(thread, dict) else None
        text = labels.files_on_page.format(names=f"{one_line(about)}, {size}")
        yield text_line(f"{text} · {url}" if url else text, DIM)
    tag = question_context.header_of(prompt)
    header = f"{tag.short}: " if tag else ""
    progress = f"{prompt['progress']} " if prompt["progress"] else ""
    yield text_line(f"{progress}{header}{people_text.title(ask, prompt, labels)}", BOLD)
    yield from question_context.render_below_question(prompt, asker, labels)


_COLORS: Final = {
    "red": "ansired",
    "orange": "ansiyellow",
    "yellow": "ansiyellow",
    "green": "ansigreen",
    "blue": "ansiblue",
    "purple": "ansimagenta",
}


def _marks(ask: Json, labels: Labels) -> Fragments:
    """Return how urgent an ask is, and the mark of its route; the rest of the line follows."""
    sent = ask.get("mark")
    mark = sent if isinstance(sent, dict) else {}
    style = f"bold {_COLORS.get(str(mark.get('color')), '')}".strip()
    urgency = urgency_text(Urgency(str(ask.get("urgency", Urgency.NORMAL))), labels)
    marks = ((DIM, urgency), (style, one_line(str(mark.get("word") or ""))))
    return [each for style, text in marks if text for each in ((style, text), (DIM, " · "))]

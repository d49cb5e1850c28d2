"""A context in the terminal: every character is printed, code is marked, tables have columns."""

from __future__ import annotations

import io
import string

import pytest
from hypothesis import given
from inline_snapshot import snapshot
from prompt_toolkit.application import create_app_session
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.output.plain_text import PlainTextOutput
from pydantic import JsonValue

from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.question_context import render_context, render_lines
from answerback.core.files import DOWNLOAD, AttachedFile
from answerback.core.labels import Labels
from answerback.core.markdown import parse, parse_context
from answerback.core.placement import Thread
from answerback.service.ask_wire import ask_json
from answerback_base.sanitize import visible
from answerback_testing.example_asks import new_ask
from tests.unit.bot.core.test_markdown import SOURCES


class CountedOutput(DummyOutput):
    """Counts how often the terminal is written to."""

    flushes = 0

    def flush(self) -> None:
        self.flushes += 1


def count_writes(context: str, options: int) -> int:
    prompt: dict[str, JsonValue] = {
        "kind": "question", "text": "Go?", "context": context, "context_format": "markdown", "answer_type": "select",
        "options": [{"value": f"{n}", "label": f"option {n}"} for n in range(options)], "other": False, "header": None,
        "progress": None, "prefill": None, "controls": ["reply"], "asides": [], "answered": [],
    }  # fmt: skip
    output = CountedOutput()
    with create_app_session(output=output):
        ask: dict[str, JsonValue] = {
            "asked_by": "Bot",
            "dialect": "ask_user",
            "waiting": True,
            "responders": ["anyone"],
            "expires_at": None,
        }
        TerminalPrompter(Labels()).show({**ask, "prompt": prompt})
    return output.flushes


@pytest.mark.rule("FILE-7")
@pytest.mark.parametrize("url", [None, "https://example.slack.com/archives/C1/p1"])
def test_files_are_named_with_the_address_of_the_thread_that_shows_them(url: str | None) -> None:
    plot = AttachedFile(
        id="file_1", name="plot.png", media_type="image/png", bytes=1_500, sha256="", alt="Latency"
    )
    table = AttachedFile(id="file_2", name="a.csv", media_type=DOWNLOAD, bytes=9, sha256="")
    thread = Thread(url=url) if url else None
    ask = new_ask(request={"files": (plot, table)}, thread=thread)
    printed = io.StringIO()
    with create_app_session(output=PlainTextOutput(printed)):
        TerminalPrompter(Labels()).show(ask_json(ask))
    above, _, below = printed.getvalue().replace("\r", "").partition("[1/")
    at = f" · {url}" if url else ""
    assert above.splitlines()[-2:] == [
        f"Sent with this, and shown on its page: Latency (plot.png), 1.5 kB{at}",
        f"Sent with this, and shown on its page: a.csv, 9 bytes{at}",
    ]
    assert "plot.png" not in below


_NOT_MARKUP = str.maketrans("", "", string.punctuation + string.whitespace + "│┃─┼•")


def shown(source: str) -> str:
    return "\n".join("".join(text for _, text in line) for line in render_lines(parse(source)))


@pytest.mark.rule("TERMINAL-6")
def test_a_long_context_and_a_long_list_take_no_more_writes_than_short_ones() -> None:
    long = "\n".join(f"line {n}\n" for n in range(1_000))
    assert count_writes(long, 1_000) == count_writes("line", 1) <= 4


@pytest.mark.rule("TEXT-7")
def test_blanks_that_only_align_a_table_are_not_counted() -> None:
    blanks = " " * 60
    context = f"| a{blanks} | b |\n|---|---|\n| c{blanks} | d |\n\nls{blanks}; rm"
    lines = render_context({"context": context, "context_format": "markdown"})
    shown = "\n".join("".join(text for _, text in line) for line in lines)
    assert shown == snapshot("""\
a │ b
──┼──
c │ d

ls[60 spaces]; rm\
""")


@pytest.mark.rule("TEXT-5")
def test_a_table_is_aligned_as_its_source_says() -> None:
    context = "|item|no|price|\n|-|:-:|-:|\n|a|x|1200|\n|bc|y|7|"
    lines = render_context({"context": context, "context_format": "markdown"})
    assert "\n".join("".join(text for _, text in line) for line in lines) == snapshot("""\
item │ no │ price
─────┼────┼──────
a    │ x  │  1200
bc   │ y  │     7\
""")


@pytest.mark.rule("TEXT-5", "TEXT-6")
@given(source=SOURCES.map(visible))
def test_every_character_is_printed(source: str) -> None:
    assert shown(source).translate(_NOT_MARKUP) == source.translate(_NOT_MARKUP)


@pytest.mark.rule("TEXT-5")
def test_each_kind_of_block_is_rendered_differently() -> None:
    source = """# Plan

Adds *one* column, see [the docs](https://x.y):

1. lock
   - a `b`

     more
2.

> careful
> now

---

| table | rows |
|-------|------|
| 語    | 12 |

```diff of it
-a
+b
```
"""
    assert shown(source) == snapshot("""\
Plan

Adds one column, see the docs (https://x.y):

1. lock
   • a b
     more
2. \n\

│ careful
│ now

────────────────────

table │ rows
──────┼─────
語    │ 12

diff of it
┃ -a
┃ +b\
""")


def test_styles_are_the_terminals_own() -> None:
    styles = {
        text: style
        for line in render_lines(
            parse("**a** *b* `c` ~~d~~ <http://x.y>\n\n# e\n\n```diff\n+f\n-g\n@h\n i\n```")
        )
        for style, text in line
    }
    assert (styles["a"], styles["b"], styles["c"].strip(), styles["d"]) == (
        "bold",
        "italic",
        "ansicyan",
        "strike",
    )
    assert styles["http://x.y"].strip() == "underline"
    assert "bold" in styles["e"]
    assert [styles[each] for each in ("+f", "-g", "@h", " i")] == [
        "ansigreen",
        "ansired",
        "ansicyan",
        "",
    ]


@pytest.mark.rule("TEXT-5")
def test_code_without_a_language_begins_with_its_first_line() -> None:
    assert shown("```\nmake\n```") == "┃ make"


@pytest.mark.rule("SUBMIT-17")
def test_text_is_shown_as_it_is() -> None:
    assert [*render_lines(parse_context("*a*\n# b", "text"))] == [[("", "*a*")], [("", "# b")]]

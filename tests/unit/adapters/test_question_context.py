"""A context in a chat message: it has every character and no markup from the agent, and fits its space."""

from __future__ import annotations

import html
import re
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from answerback.core.form import AnswerType, ContextFormat, Question
from answerback.core.labels import Labels
from answerback.core.markdown import blocks_to_text, parse
from answerback.core.view import Prompt
from answerback.presentation.context_layout import CODE_LINES, FittedBlocks, fit_context
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import visible
from answerback_discord.question_context import MarkdownContext
from answerback_slack.question_context import rich_text
from tests.fakes.discord.markdown import to_html
from tests.fakes.slack.richtext import Run, check_rich_text, rich_text_runs
from tests.unit.bot.core.test_markdown import SOURCES

_NOT_MARKUP = str.maketrans("", "", string.punctuation + string.whitespace + "•─—\u200b")
PLAN = """## Plan *B*

Adds `paid_at`, see [the docs](https://x.y/p_q):

1. lock
2. run
   - watch

3. done

> careful
> now

| table | rows |
|-------|------|
| 語    | 12   |

```diff
-a
+b
```
"""
QUOTED = """> - item
>
>   ```sh
>   ls
>   ```
> > deep
>
> | x | y |
> |---|---|
> | 1 | 2 |
>
> ---
"""


def slack(source: str) -> list[Run]:
    blocks: Any = rich_text(parse(source))
    for block in blocks:
        assert [*check_rich_text(block, "")] == []
    return [run for block in blocks for run in rich_text_runs(block)]


def discord(source: str) -> str:
    """Return what a person reads on Discord."""
    shown = re.sub(
        r"</?(?:p|div|pre|h\d|blockquote|small)[^>]*>",
        "\n",
        to_html(MarkdownContext().render(parse(source))),
    )
    return html.unescape(re.sub(r"<[^>]+>", "", shown))


@pytest.mark.rule("TEXT-5", "TEXT-6", "TEXT-1")
@given(source=SOURCES.map(visible))
@example("1. a\n   - b\n\n     c\n2. ```\n   d\n   ```")
@example("`` ` `` **a***b*~~c~~")
def test_every_character_is_in_slacks_message_and_only_addresses_are_live(source: str) -> None:
    runs = slack(source)
    said = "".join(run.text for run in runs)
    assert said.translate(_NOT_MARKUP) == blocks_to_text(parse(source)).translate(_NOT_MARKUP)
    for run in runs:
        assert run.kind in {"text", "link"}
        assert run.kind == "text" or run.text == run.target, "a link hides its target"


@pytest.mark.rule("TEXT-5", "TEXT-6", "TEXT-1")
@given(source=SOURCES.map(visible))
@example("1. a\n   - b\n\n     c\n2. ```\n   d\n   ```")
@example("`` ` `` **a***b*~~c~~ `a```b`")
@example("**1**. @everyone <@123> <#1> [x](https://y.z) https://y.z")
def test_every_character_is_in_discords_message_and_nothing_mentions(source: str) -> None:
    said = discord(source)
    assert said.translate(_NOT_MARKUP) == blocks_to_text(parse(source)).translate(_NOT_MARKUP)
    assert "class=mention" not in to_html(MarkdownContext().render(parse(source)))


@pytest.mark.rule("TEXT-5")
def test_a_table_is_aligned_as_its_source_says() -> None:
    assert MarkdownContext().render(parse("|item|price|\n|-|-:|\n|a|1200|\n|bc|7|")) == snapshot("""\
```
item | price
-----+------
a    |  1200
bc   |     7
```\
""")


@pytest.mark.rule("TEXT-5")
def test_each_kind_of_block_has_its_discord_markup() -> None:
    assert MarkdownContext().render(parse(PLAN)) == snapshot("""\
**Plan** ***B***
Adds `paid_at`, see the docs (<https://x.y/p_q>):
1. lock
2. run
  - watch
3. done
> careful
> now
```
table | rows
------+-----
語    | 12
```
-# diff
```diff
-a
+b
```\
""")


@pytest.mark.rule("TEXT-5")
def test_each_kind_of_block_has_its_slack_markup() -> None:
    assert rich_text(parse(PLAN)) == snapshot(
        [
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "Plan ", "style": {"bold": True}},
                            {"type": "text", "text": "B", "style": {"bold": True, "italic": True}},
                        ],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "Adds "},
                            {"type": "text", "text": "paid_at", "style": {"code": True}},
                            {"type": "text", "text": ", see "},
                            {"type": "text", "text": "the docs"},
                            {"type": "text", "text": " ("},
                            {"type": "link", "url": "https://x.y/p_q", "text": "https://x.y/p_q"},
                            {"type": "text", "text": ")"},
                            {"type": "text", "text": ":"},
                        ],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "1. "},
                            {"type": "text", "text": "lock"},
                        ],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "2. "},
                            {"type": "text", "text": "run"},
                        ],
                    },
                    {
                        "type": "rich_text_list",
                        "style": "bullet",
                        "indent": 1,
                        "elements": [
                            {
                                "type": "rich_text_section",
                                "elements": [{"type": "text", "text": "watch"}],
                            }
                        ],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "3. "},
                            {"type": "text", "text": "done"},
                        ],
                    },
                    {
                        "type": "rich_text_quote",
                        "elements": [
                            {
                                "type": "text",
                                "text": """\
careful
now\
""",
                            }
                        ],
                    },
                    {
                        "type": "rich_text_preformatted",
                        "elements": [
                            {
                                "type": "text",
                                "text": """\
table | rows
------+-----
語    | 12\
""",
                            }
                        ],
                    },
                    {
                        "type": "rich_text_section",
                        "elements": [{"type": "text", "text": "diff", "style": {"italic": True}}],
                    },
                    {
                        "type": "rich_text_preformatted",
                        "elements": [
                            {
                                "type": "text",
                                "text": """\
-a
+b\
""",
                            }
                        ],
                    },
                ],
            }
        ]
    )


@pytest.mark.rule("TEXT-5")
def test_everything_in_a_quote_becomes_its_lines_on_slack() -> None:
    assert "".join(run.text for run in slack(QUOTED)) == snapshot("""\
• item
  sh
ls
> deep
x | y
--+--
1 | 2
────────
""")
    assert rich_text(parse(">")) == []


# --- space ------------------------------------------------------------------------------------------


def prompt(source: str, context_format: ContextFormat = "markdown") -> Prompt:
    question = Question(id="q", text="?", answer_type=AnswerType.TEXT, context=source)
    return Prompt(question, 1, 1, None, False, context_format=context_format)


@pytest.mark.rule("TEXT-2", "TEXT-6")
@given(source=SOURCES, room=st.integers(1, 200))
def test_a_cut_context_is_marked_as_such(source: str, room: int) -> None:
    found = fit_context(prompt(source), room)
    said, full = (
        blocks_to_text(blocks).translate(_NOT_MARKUP)
        for blocks in (found.blocks, parse(visible(source)))
    )
    if found.whole:
        assert said == full
    else:
        assert said != full
    assert utf16_length(blocks_to_text(found.blocks)) <= room + 40 or not said


@pytest.mark.rule("TEXT-4", "TEXT-6")
def test_long_code_is_cut_at_a_line_and_the_button_says_how_long_it_is() -> None:
    code = "\n".join(f"line {n}" for n in range(CODE_LINES))
    fits = fit_context(prompt(f"```\n{code}\n```"), 3_000)
    assert fits.whole
    assert fits.more_label(Labels()) is None
    found = fit_context(prompt(f"```\n{code}\nlast\n```\nafter"), 3_000)
    assert not found.whole
    assert found.more_label(Labels()) == "Show all 41 lines"
    assert blocks_to_text(found.blocks) == f"{code}\n…\nafter"


@pytest.mark.rule("SUBMIT-17")
def test_plain_text_is_rendered_verbatim() -> None:
    found = fit_context(prompt("*a* `b`\n# c", "text"), 100)
    assert MarkdownContext().render(found.blocks) == "\\*a\\* \\`b\\`\n\\# c"
    assert [run.text for run in slack_of(found)] == ["*a* `b`\n# c", "\n"]


def slack_of(found: FittedBlocks) -> list[Run]:
    blocks: Any = rich_text(found.blocks)
    return [run for block in blocks for run in rich_text_runs(block)]

"""Contract tests for hostile, invisible or very long texts and the largest forms: everything can be read."""

from __future__ import annotations

import re

import pytest
from pydantic import JsonValue

from answerback.core.ask import Status
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import ENGLISH as LABELS
from answerback_base.sanitize import visible
from answerback_testing.simulated_people import HasMentions, SimulatedPerson, Stage
from answerback_testing.surface_clicks import (
    answer_elsewhere,
    answered_values,
    create_viewed_ask,
    wait_for_steps,
)
from answerback_testing.surface_questions import AGAIN
from answerback_testing.surface_walks import strip_whitespace

QUESTIONS, OPTIONS, CHARACTERS, LABEL = 100, 1_000, 20_000, 1_000
HOSTILE = {
    "markup": "*b* _i_ ~s~ `c` ||x|| > q\n# h\n```\n</pre><script>alert(1)</script>&amp;&lt; \\* {{7*7}}",
    "mentions": "@everyone @here <!channel> <!here> <@U1> <@1> <@&1> <#C1> <!subteam^S1> <!date^0^{date}|x>",
    "links": "[safe](https://evil.example) <https://evil.example|safe> https://evil.example :smile:",
    "controls": "a\x00b\x07c\x1b[31md\re\r\nf\x7fg\x85h\u2028i",
    "bidi": "pay \u202eelpoep\u202c \u2066\u05e9\u05dc\u05d5\u05dd\u2069 \u200b\u200d\u2060\ufeffend",
    "combining": "e" + "\u0301\u0489" * 60 + "\U0001f469\u200d\U0001f469\u200d\U0001f467" * 9,
    "invisible": "rm a\u00adb \u3164c\uffa0d\u2800 e\U000e0066\U000e0067 f\ufe0f g\u200ch \u2764\ufe0f",
    "blanks": "ls" + " " * 400 + "; rm -rf /srv" + "\t" * 50 + "x",
    "long word": "Donaudampfschiff" * 60,
}

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
HEADERS = {
    "Target hosts": "Target hosts",
    "Authentication method": "Authenticat…",
    "Deploy now to all": "Deploy now…",
    FAMILY * 12: FAMILY * 12,
    FAMILY * 13: FAMILY * 11 + "…",
}
"""Headers with the tags that are shown for them."""

MARKED = (
    "Replace src/__init__.py and app/__main__.py",
    r"Delete C:\new\*.* and C:\_old\[1]",
    "# rm -rf /srv",
    "See `a*b`, [the docs](https://example.org/x) and ~~nothing~~",
    "| from | to |\n|------|----|\n| *.py | b  |",
    "- one\n- **two**\n\n> quoted",
)
"""Contexts with marks that their rendering leaves out."""


def hostile_form(text: str) -> Form:
    """Return a form with this text in every text field."""
    options = (
        Option(value=text, label=text, description=text),
        Option(value="plain", label="plain"),
    )
    choice: dict[str, object] = {"text": text, "context": text, "header": text, "options": options}
    return Form(
        questions=(
            Question.model_validate({"id": "one", "answer_type": "select", **choice}),
            Question.model_validate({"id": "many", "answer_type": "multi_select", **choice}),
            Question(id="text", text=text, answer_type=AnswerType.TEXT),
            AGAIN,
        )
    )


class TextsContract:
    """Whatever an agent sends can be read and answered, and has no other effect."""

    @pytest.mark.rule("TEXT-1", "TEXT-3", "SURFACE-6")
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    async def test_hostile_texts_can_be_read_and_answered_verbatim_and_notify_nobody(
        self, stage: Stage, ada: SimulatedPerson, text: str
    ) -> None:
        form = hostile_form(text)
        ask = await create_viewed_ask(stage, form.questions, ada)
        ask = await wait_for_steps(stage, ask, ada, after=0)
        await _assert_harmless(ada)
        typed = "".join(c for c in text if c.isprintable() or c == "\n")
        given: list[JsonValue] = [text, [text], typed]
        for count, value in enumerate(given, 1):
            await ada.answer(form.questions[count - 1], value)
            latest = await wait_for_steps(stage, ask, ada, after=count)
            assert answered_values(latest) == given[:count]
            await _assert_harmless(ada)
        await ada.reply(typed)
        latest = await wait_for_steps(stage, ask, ada, after=len(given) + 1)
        assert latest.walk.reply == typed
        await _assert_harmless(ada)

    @pytest.mark.rule("TEXT-3", "TEXT-7")
    @pytest.mark.parametrize("kind", ["invisible", "blanks"])
    @pytest.mark.parametrize(
        "context", ["{}", "```sh\n{}\n```", "> - **{}**", "| a |\n|---|\n| {} |"]
    )
    async def test_what_a_text_hides_is_shown(
        self, stage: Stage, ada: SimulatedPerson, kind: str, context: str
    ) -> None:
        codes: dict[str, list[str]] = {
            "invisible": ["AD", "3164", "FFA0", "2800", "E0066", "E0067", "FE0F", "200C"],
            "blanks": [],
        }
        counts: dict[str, list[str]] = {"invisible": [], "blanks": ["[400 spaces]", "[50 spaces]"]}
        expected = [*(f"⟨U+{code.zfill(4)}⟩" for code in codes[kind]), *counts[kind]]
        options = (Option(value="a", label=HOSTILE[kind]), Option(value="b", label="b"))
        question = Question(
            id="q",
            text="Run it?",
            context=context.format(HOSTILE[kind]),
            answer_type=AnswerType.SELECT,
            options=options,
        )
        await create_viewed_ask(stage, [question, AGAIN], ada)
        text = await ada.read_all_text()
        assert [each for each in expected if text.count(each) < 2] == []

    @pytest.mark.rule("TEXT-9", "HOST-2")
    @pytest.mark.parametrize("header", HEADERS, ids=lambda header: f"{len(header)} code points")
    async def test_a_header_is_a_tag_of_twelve_characters_and_can_be_read_whole(
        self, stage: Stage, ada: SimulatedPerson, header: str
    ) -> None:
        question = Question(id=header, text="Which?", header=header, answer_type=AnswerType.BOOLEAN)
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        text, tag = strip_whitespace(await ada.read_all_text()), HEADERS[header]
        assert strip_whitespace(header) in text
        assert ("…" in text) == ("…" in tag)
        assert strip_whitespace(tag) in text
        await ada.answer(question, True)
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert [given.question_id for given in ask.walk.answers] == [header]

    @pytest.mark.rule("HOST-2")
    async def test_a_header_that_repeats_the_question_is_shown_once(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        text = "Which database?"
        question = Question(id="q", text=text, header=text, answer_type=AnswerType.BOOLEAN)
        await create_viewed_ask(stage, [question, AGAIN], ada)
        assert "Which data…" not in await ada.read_all_text()

    @pytest.mark.rule("TEXT-6")
    @pytest.mark.parametrize("source", MARKED)
    async def test_a_context_whose_marks_are_rendered_away_can_be_read_as_written(
        self, stage: Stage, ada: SimulatedPerson, source: str
    ) -> None:
        question = Question(
            id="q", text="Delete it?", context=source, answer_type=AnswerType.BOOLEAN
        )
        await create_viewed_ask(stage, [question, AGAIN], ada)
        assert source in await ada.read_all_text()

    @pytest.mark.rule("TEXT-8")
    @pytest.mark.parametrize("kind", [AnswerType.SELECT, AnswerType.MULTI_SELECT])
    async def test_options_that_look_alike_are_told_apart_and_come_back_as_sent(
        self, stage: Stage, ada: SimulatedPerson, kind: AnswerType
    ) -> None:
        names = {"one": "Yes", "two": "Ｙ\u200bes", "three": "No", "four": "back"}
        options = tuple(Option(value=value, label=name) for value, name in names.items())
        question = Question(id="q", text="Which?", answer_type=kind, options=options)
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        text = await ada.read_all_text()
        assert [each for each in ("Yes (1)", "es (2)", "back (1)") if each not in text] == []
        value: JsonValue = "two" if kind is AnswerType.SELECT else ["two", "four"]
        await ada.answer(question, value)
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [value]
        assert "es (2)" in await ada.read_all_text()

    @pytest.mark.rule("TEXT-8")
    @pytest.mark.parametrize("kind", [AnswerType.SELECT, AnswerType.MULTI_SELECT])
    async def test_an_option_like_the_control_for_own_words_is_that_control(
        self, stage: Stage, ada: SimulatedPerson, kind: AnswerType
    ) -> None:
        options = tuple(Option(value=name, label=name) for name in ("a", "b", LABELS.other))
        base = Question(id="q", text="Which?", answer_type=kind, options=options[:2], other=True)
        await create_viewed_ask(stage, [base, AGAIN], ada)
        expected = (await ada.read_all_text()).count(LABELS.other)
        question = base.model_copy(update={"options": options})
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        assert (await ada.read_all_text()).count(LABELS.other) == expected > 0
        await ada.answer_other("my own words")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == ["my own words"]

    @pytest.mark.rule("SURFACE-6", "TEXT-2")
    async def test_a_form_with_the_maximum_number_of_questions_can_be_walked_and_its_record_read(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        form = Form(
            questions=tuple(
                Question(id=f"q{n}", text=f"Question number {n}?", answer_type=AnswerType.BOOLEAN)
                for n in range(QUESTIONS)
            )
        )
        ask = await create_viewed_ask(stage, form.questions, ada)
        await ada.answer(form.questions[0], True)
        ask = await wait_for_steps(stage, ask, ada, after=1)
        for _ in range(QUESTIONS - 2):
            await answer_elsewhere(stage, ask, ada)
        ask = await wait_for_steps(stage, ask, ada, after=QUESTIONS - 2)
        await ada.answer(form.questions[-1], False)
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert ask.status is Status.ANSWERED
        assert answered_values(ask) == [True] * (QUESTIONS - 1) + [False]

    @pytest.mark.rule("SURFACE-6", "TEXT-2")
    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            (AnswerType.SELECT, f"v{OPTIONS - 1}"),
            (AnswerType.MULTI_SELECT, ["v0", f"v{OPTIONS // 2}", f"v{OPTIONS - 1}"]),
        ],
    )
    async def test_any_of_the_maximum_number_of_options_can_be_chosen(
        self, stage: Stage, ada: SimulatedPerson, kind: AnswerType, value: JsonValue
    ) -> None:
        options = tuple(Option(value=f"v{n}", label=f"Option {n:04}") for n in range(OPTIONS))
        question = Question(id="q", text="Which?", answer_type=kind, options=options)
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        await ada.answer(question, value)
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == [value]

    @pytest.mark.rule("TEXT-2", "SURFACE-6")
    async def test_the_longest_texts_can_be_read_in_full(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        message = "".join(f"word {n:05}, " for n in range(CHARACTERS // 12))
        label = message[: LABEL - 9]
        options = tuple(Option(value=f"v{n}", label=f"{n} {label}"[:LABEL]) for n in range(9))
        question = Question(
            id="q",
            text=message.ljust(CHARACTERS, "."),
            context=message.upper().ljust(CHARACTERS, "!"),
            answer_type=AnswerType.SELECT,
            options=options,
        )
        ask = await create_viewed_ask(stage, [question, AGAIN], ada)
        ask = await wait_for_steps(stage, ask, ada, after=0)
        await ada.answer(question, "v8")
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == ["v8"]

    @pytest.mark.rule("TEXT-2", "SURFACE-6")
    @pytest.mark.parametrize("flat", [True, False])
    async def test_all_that_a_schema_says_can_be_read(
        self, stage: Stage, ada: SimulatedPerson, flat: bool
    ) -> None:
        message = "".join(f"word {n:05}, " for n in range(CHARACTERS // 24))
        field: JsonValue = {"type": "string" if flat else "object", "description": message}
        schema: JsonValue = {"type": "object", "properties": {"last": field}}
        question = Question(
            id="q", text="Which?", answer_type=AnswerType.SCHEMA, json_schema=schema
        )
        await create_viewed_ask(stage, [question, AGAIN], ada)
        text = await ada.read_all_text()
        assert message.split(",")[-2].strip() in text


async def _assert_harmless(person: SimulatedPerson) -> None:
    """Assert that texts notify nobody, and that what is invisible or reorders text is made visible."""
    text = re.sub(r"\s", "", await person.read_all_text())
    assert text == visible(text)
    if isinstance(person, HasMentions):
        assert person.mentions_and_links() == []

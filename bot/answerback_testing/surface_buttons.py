"""Contract tests for decisions by one press: a button an option, none like another, and each says what it does."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question, When
from answerback.core.origin import Origin
from answerback.core.typed_text import fold
from answerback.dialects.approvals.tool_use import describe
from answerback.presentation.option_controls import MAX_BUTTONS, MAX_SECTIONS
from answerback_base.sanitize import visible
from answerback_testing.simulated_people import (
    Capability,
    HasButtons,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import (
    answered_values,
    create_viewed_ask,
    wait_for_steps,
)
from answerback_testing.surface_questions import AGAIN, ALLOW, DENY, GO, LABELS, WHY
from answerback_testing.surface_walks import strip_whitespace

LONG = "Allow, and always allow commands that begin with: git commit --message in every repository "
"""The beginning of labels that no button holds."""
DECISIONS = (
    ALLOW,
    Option(value="always", label="Allow this session", kind=OptionKind.ALLOW_ALWAYS),
    DENY,
)
COMPARING = "## Compare\n\n| | cost |\n|---|---|\n| **A** | 3 |\n\nWhich of `A` and `B`?"
"""A question with a heading and a table."""
STEPS = "".join(f"step{n:04}; " for n in range(1_500))
"""More than any message shows."""
SHORTENED: dict[str, JsonValue] = {
    "Bash": {"command": STEPS},
    "Edit": {"file_path": "/srv/" + "x" * 200, "old_string": "", "new_string": STEPS},
    "ExitPlanMode": {"plan": STEPS},
}
"""Uses of tools whose headlines cannot say what would be done."""
_LOOK_ALIKE = ("Deploy", "D\u0435ploy", "Deploy\u200b", "Back", "Reply", "END TURN", "Show in full")
SCHEMAS: dict[str, JsonValue] = {
    "flat": {"type": "object", "properties": {"port": {"type": "integer"}}},
    "deep": {"type": "array", "items": {"type": "array"}},
}
ALIKE = (
    GO,
    WHY,
    *(
        Question(
            id=f"{kind}-{len(labels)}",
            text="Which?",
            answer_type=kind,
            options=tuple(Option(value=f"v{n}", label=each) for n, each in enumerate(labels)),
            other=other,
        )
        for kind in (AnswerType.SELECT, AnswerType.MULTI_SELECT)
        for labels, other in (
            (_LOOK_ALIKE[:3], True),
            (_LOOK_ALIKE, False),
            (tuple(f"Option {n}" for n in range(30)), True),
        )
    ),
    *(
        Question(id=name, text="Fill it in", answer_type=AnswerType.SCHEMA, json_schema=schema)
        for name, schema in SCHEMAS.items()
    ),
)
"""Questions of every kind, some with options that are hard to tell apart."""


def choice(*options: Option) -> Question:
    """Return a question about one of these options."""
    return Question(
        id="q",
        text="Run ls",
        context="```sh\nls\n```",
        answer_type=AnswerType.SELECT,
        options=options,
    )


async def see(stage: Stage, person: SimulatedPerson, question: Question) -> Ask:
    """Create an ask with this question first, and let the person look at it."""
    form = Form(questions=(question, AGAIN), decided_by_hand=question.is_approval)
    ask = await stage.harness.create_ask(form, stage.place, (person.user_id,))
    await person.look_at(ask)
    return ask


@requires_capability(Capability.BUTTONS)
class ButtonsContract:
    """A decision takes one press, and nothing that is decided is out of sight."""

    @pytest.mark.rule("SURFACE-19")
    @pytest.mark.parametrize("index", range(len(DECISIONS)))
    async def test_one_press_decides_about_a_permission(
        self, stage: Stage, ada: HasButtons, index: int
    ) -> None:
        ask = await see(stage, ada, choice(*DECISIONS))
        buttons = ada.buttons()
        answering = [each for each in buttons if each.answers]
        assert [each.label for each in answering] == [each.label for each in DECISIONS]
        assert [each.denies for each in answering] == [False, False, True]
        assert len({each.label for each in buttons}) == len(buttons)
        await ada.press_button(answering[index])
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(ask) == [DECISIONS[index].value]

    @pytest.mark.rule("APPROVAL-11")
    async def test_what_nobody_knows_takes_a_second_press(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        decision = choice(*DECISIONS).model_copy(update={"nothing_known": True, "context": None})
        once = DECISIONS[0]
        sure = decision.model_copy(
            update={
                "id": "unseen",
                "options": (once.model_copy(update={"label": "Allow once, unseen"}),),
                "when": When(question_id=decision.id, equals=once.value),
            }
        )
        form = Form(questions=(decision, sure), decided_by_hand=True)
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await ada.look_at(ask)
        await ada.press_button(next(each for each in ada.buttons() if each.answers))
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert ask.open
        [button] = [each for each in ada.buttons() if each.answers]
        assert button.label == "Allow once, unseen"
        await ada.press_button(button)
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert ask.status is Status.ANSWERED

    @pytest.mark.rule("SURFACE-20")
    async def test_reply_and_end_turn_say_that_they_deny(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        ask = await see(stage, ada, choice(*DECISIONS))
        labels = {each.label for each in ada.buttons()}
        assert {LABELS.deny_with_message, LABELS.deny_and_stop} <= labels
        assert not {LABELS.reply, LABELS.end_turn} & labels
        await ada.reply("Not here.")
        assert (await wait_for_steps(stage, ask, ada, after=1)).walk.reply == "Not here."
        await see(stage, ada, AGAIN.model_copy(update={"id": "first"}))
        labels = {each.label for each in ada.buttons()}
        assert {LABELS.reply, LABELS.end_turn} <= labels
        assert not {LABELS.deny_with_message, LABELS.deny_and_stop} & labels

    @pytest.mark.rule("SURFACE-20")
    async def test_a_reply_to_a_plan_keeps_the_agent_planning(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        ask = await see(stage, ada, choice(*DECISIONS).model_copy(update={"plan": True}))
        labels = {each.label for each in ada.buttons()}
        assert {LABELS.keep_planning, LABELS.deny_and_stop} <= labels
        assert LABELS.deny_with_message not in labels
        await ada.reply("Keep the old table.")
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert ask.walk.reply == "Keep the old table."

    @pytest.mark.rule("TEXT-10")
    async def test_the_markdown_of_a_question_is_drawn_and_its_labels_have_no_marks(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        asked = choice(
            Option(value="a", label="**A** (`cheap`)"), Option(value="b", label="B")
        ).model_copy(update={"text": COMPARING})
        ask = await see(stage, ada, asked)
        labels = [each.label for each in ada.buttons() if each.answers]
        assert labels == ["A (cheap)", "B"]
        shown = ada.seen_at_once()
        assert "Which of A and B?" in shown
        assert "Compare" in shown
        assert "|---|" not in strip_whitespace(shown)
        await ada.press_button(next(each for each in ada.buttons() if each.answers))
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == ["a"]

    @pytest.mark.rule("SURFACE-19", "TEXT-2")
    async def test_a_long_label_of_a_decision_is_whole_above_its_button(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        long = [
            Option(value=f"v{n}", label=LONG + str(n), kind=OptionKind.ALLOW_ALWAYS)
            for n in range(6)
        ]
        ask = await see(stage, ada, choice(DECISIONS[0], *long, DECISIONS[2]))
        answering = [each for each in ada.buttons() if each.answers]
        assert len({each.label for each in answering}) == len(answering) == len(long) + 2
        shown = strip_whitespace(ada.seen_at_once())
        assert [each for each in long if strip_whitespace(each.label) not in shown] == []
        await ada.press_button(answering[3])
        assert answered_values(await wait_for_steps(stage, ask, ada, after=1)) == ["v2"]

    @pytest.mark.rule("SURFACE-19")
    @pytest.mark.parametrize("described", [False, True])
    async def test_one_press_answers_a_short_choice_and_a_long_list_has_its_own_control(
        self, stage: Stage, ada: HasButtons, described: bool
    ) -> None:
        most = MAX_SECTIONS if described else MAX_BUTTONS
        options = [
            Option(
                value=f"v{n}", label=f"Option {n}", description=f"about {n}" if described else None
            )
            for n in range(most + 1)
        ]
        ask = await see(stage, ada, choice(*options[:most]))
        answering = [each for each in ada.buttons() if each.answers]
        assert [each.label for each in answering] == [each.label for each in options[:most]]
        assert not any(each.denies for each in answering)
        shown = ada.seen_at_once()
        assert [each for each in options[:most] if (each.description or "") not in shown] == []
        await ada.press_button(answering[-1])
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(ask) == [options[most - 1].value]
        await see(stage, ada, choice(*options))
        assert not any(each.answers for each in ada.buttons())

    @pytest.mark.rule("SURFACE-21", "TEXT-2")
    @pytest.mark.parametrize("tool", SHORTENED)
    async def test_what_would_be_done_is_shown_where_it_is_decided(
        self, stage: Stage, ada: HasButtons, tool: str
    ) -> None:
        use = describe(tool, SHORTENED[tool], {})
        assert use.headline.endswith("(shortened)") is (tool != "ExitPlanMode")
        asked = {"text": use.headline, "context": use.context}
        await see(stage, ada, choice(*DECISIONS).model_copy(update=asked))
        assert any(each.answers for each in ada.buttons())
        assert "step0000; step0001;" in ada.seen_at_once()
        text = strip_whitespace(await ada.read_all_text())
        assert strip_whitespace(STEPS) in text

    @pytest.mark.rule("SURFACE-22")
    async def test_the_call_and_the_folder_are_shown_in_full_alone(
        self, stage: Stage, ada: HasButtons
    ) -> None:
        sent: JsonValue = {"command": "ls", "timeout_ms": 70_707, "note": "a\u00adb"}
        request = {"origin": Origin(folder="/srv/ada/shop-7"), "sent": sent}
        form = Form(questions=(choice(*DECISIONS),), decided_by_hand=True)
        ask = await stage.harness.create_ask(
            form, stage.place, (ada.user_id,), request={**request, "dialect": "approval"}
        )
        await ada.look_at(ask)
        for _ in ("open", "ended"):
            seen = ada.seen_at_once()
            assert "shop-7" not in seen
            assert "70707" not in seen
            text = await ada.read_all_text()
            assert "/srv/ada/shop-7" in text
            assert '"timeout_ms": 70707' in text
            assert r"a\u00adb" in text
            if ask.open:
                await ada.press_button(next(each for each in ada.buttons() if each.denies))
                ask = await wait_for_steps(stage, ask, ada, after=1)

    @pytest.mark.rule("SURFACE-21", "TEXT-8")
    @pytest.mark.parametrize("question", ALIKE, ids=lambda question: question.id)
    async def test_no_two_controls_are_alike_and_nothing_is_out_of_sight(
        self, stage: Stage, ada: HasButtons, question: Question
    ) -> None:
        context = (
            "ls"
            + " " * 400
            + "; rm -rf /srv\u200b\n\n"
            + "\n\n".join(f"{n}. {STEPS[:400]}" for n in range(30))
        )
        shown = {"context": context, "header": "Deploy\u200bNow"}
        ask = await create_viewed_ask(stage, [AGAIN, question.model_copy(update=shown)], ada)
        await ada.answer(AGAIN, True)
        await wait_for_steps(stage, ask, ada, after=1)
        labels = [each.label for each in ada.buttons()]
        assert len({fold(each) for each in labels}) == len(labels)
        assert all(visible(each) == each for each in labels)
        assert "[400 spaces]; rm -rf /srv⟨U+200B⟩" in ada.seen_at_once()
        text = await ada.read_all_text()
        assert {invisible for invisible in ("\u200b", " " * 41) if invisible in text} == set()
        assert strip_whitespace(f"29. {STEPS[:400]}") in strip_whitespace(text)

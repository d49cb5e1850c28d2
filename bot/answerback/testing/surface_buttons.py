"""Contract tests for decisions by one press: a button an option, none like another, and each says what it does."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.presentation.option_controls import MAX_BUTTONS, MAX_SECTIONS
from answerback.testing.simulated_people import (
    Capability,
    HasButtons,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback.testing.surface_clicks import answered_values, wait_for_steps
from answerback.testing.surface_questions import AGAIN, LABELS
from answerback.testing.surface_walks import strip_whitespace

LONG = "Allow, and always allow commands that begin with: git commit --message in every repository "
"""The beginning of labels that no button holds."""
DECISIONS = (
    Option(value="once", label="Allow once", kind=OptionKind.ALLOW_ONCE),
    Option(value="always", label="Allow this session", kind=OptionKind.ALLOW_ALWAYS),
    Option(value="deny", label="Deny", kind=OptionKind.DENY),
)


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


class ButtonsContract:
    """A decision takes one press, and nothing that is decided is out of sight."""

    @requires_capability(Capability.BUTTONS)
    @pytest.mark.rule("SURFACE-19")
    @pytest.mark.parametrize("index", range(len(DECISIONS)))
    async def test_one_press_decides_about_a_permission(
        self, stage: Stage, ada: SimulatedPerson, index: int
    ) -> None:
        assert isinstance(ada, HasButtons)
        ask = await see(stage, ada, choice(*DECISIONS))
        buttons = ada.buttons()
        answering = [each for each in buttons if each.answers]
        assert [each.label for each in answering] == [each.label for each in DECISIONS]
        assert [each.denies for each in answering] == [False, False, True]
        assert len({each.label for each in buttons}) == len(buttons)
        await ada.press_button(answering[index])
        ask = await wait_for_steps(stage, ask, ada, after=1)
        assert answered_values(ask) == [DECISIONS[index].value]

    @requires_capability(Capability.BUTTONS)
    @pytest.mark.rule("SURFACE-20")
    async def test_reply_and_end_turn_say_that_they_deny(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        assert isinstance(ada, HasButtons)
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

    @requires_capability(Capability.BUTTONS)
    @pytest.mark.rule("SURFACE-19", "TEXT-2")
    async def test_a_long_label_of_a_decision_is_whole_above_its_button(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        assert isinstance(ada, HasButtons)
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

    @requires_capability(Capability.BUTTONS)
    @pytest.mark.rule("SURFACE-19")
    @pytest.mark.parametrize("described", [False, True])
    async def test_one_press_answers_a_short_choice_and_a_long_list_has_its_own_control(
        self, stage: Stage, ada: SimulatedPerson, described: bool
    ) -> None:
        assert isinstance(ada, HasButtons)
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

    @requires_capability(Capability.BUTTONS)
    @pytest.mark.rule("SURFACE-21", "TEXT-2")
    async def test_what_would_be_done_is_shown_where_it_is_decided(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        assert isinstance(ada, HasButtons)
        command = "echo start; " + "".join(f"step{n:04}; " for n in range(1_500)) + "echo end"
        question = choice(*DECISIONS).model_copy(update={"context": f"```sh\n{command}\n```"})
        await see(stage, ada, question)
        assert "echo start; step0000;" in ada.seen_at_once()
        text = strip_whitespace(await ada.read_all_text())
        assert strip_whitespace(command) in text

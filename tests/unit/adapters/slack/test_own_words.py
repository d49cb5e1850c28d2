"""Free text in a multiple choice: boxes ticked in the message are kept, or the modal says that they are replaced."""

from __future__ import annotations

from typing import Any

from answerback.dialects import registry
from answerback_chat.control_codec import Verb
from tests.unit.adapters.slack.rig import LABELS, Rig

OPTIONS = [{"label": label, "description": f"about {label}"} for label in ("A", "B", "C")]


def call(name: str, options: list[dict[str, str]] = OPTIONS) -> dict[str, Any]:
    question = {"question": "Which?", "header": "h", "options": options, "multiSelect": True}
    return {"name": name, "arguments": {"questions": [question]}}


async def result(up: Rig, ask: Any) -> Any:
    found = registry.render_result(await up.shown(ask))
    assert found is not None
    return found.structured


async def test_ticked_options_appear_in_the_modal_and_are_kept_with_the_text(up: Rig) -> None:
    ask = await up.submit(**call("ask_user"))
    await up.ada.check(up.live(ask), ["A", "B"], Verb.CHOOSE)
    await up.ada.click(up.live(ask), LABELS.other)
    view = await up.ada.sees_modal()
    boxes = next(c for c in up.ada.sees(view).controls if c.kind == "checkboxes")
    assert [option["value"] for option in boxes.element["initial_options"]] == ["0", "1"]
    assert (await up.ada.submit({LABELS.other_label: "Zig"})).ok
    assert await result(up, ask) == {"answers": [["A", "B", "Zig"]]}
    assert "A, B, Zig" in up.ada.sees(up.live(ask)).text.replace("\n➜ ", ", ")


async def test_the_ticks_can_be_changed_in_the_modal(up: Rig) -> None:
    ask = await up.submit(**call("ask_user"))
    await up.ada.check(up.live(ask), ["A"], Verb.CHOOSE)
    await up.ada.click(up.live(ask), LABELS.other)
    await up.ada.check(await up.ada.sees_modal(), ["C"], Verb.CHOOSE)
    assert (await up.ada.submit({LABELS.other_label: "Zig"})).ok
    assert await result(up, ask) == {"answers": [["C", "Zig"]]}


async def test_options_too_many_for_the_message_are_ticked_next_to_the_text(up: Rig) -> None:
    options = [{"label": f"{n} " + "long " * 14} for n in range(300)]
    ask = await up.submit(**call("ask_user", options))
    await up.ada.click(up.live(ask), LABELS.other)
    view = await up.ada.sees_modal()
    menu = next(c for c in up.ada.sees(view).controls if c.kind == "multi_static_select")
    picked = [choice.label for choice in menu.choices[3:5]]
    await up.ada.check(view, picked, menu.label)
    assert (await up.ada.submit({LABELS.other_label: "Zig"})).ok
    (answer,) = (await up.shown(ask)).walk.answers
    assert answer.value == [options[3]["label"], options[4]["label"], "Zig"]


async def test_the_modal_says_if_the_text_replaces_the_ticked_options(up: Rig) -> None:
    ask = await up.submit(**call("AskUserQuestion"))
    await up.ada.check(up.live(ask), ["A", "B"], Verb.CHOOSE)
    await up.ada.click(up.live(ask), LABELS.other)
    assert LABELS.other_replaces in up.ada.sees(await up.ada.sees_modal()).text
    assert (await up.ada.submit({LABELS.other_label: "Zig"})).ok
    assert (await result(up, ask))["answers"] == {"Which?": "Zig"}


async def test_a_text_submitted_too_late_is_given_back_with_the_ticked_options(up: Rig) -> None:
    ask = await up.submit(**call("ask_user"), responders="anyone")
    await up.ada.check(up.live(ask), ["A", "B"], Verb.CHOOSE)
    await up.ada.click(up.live(ask), LABELS.other)
    await up.ada.sees_modal()
    await up.bob.click(up.live(ask), LABELS.submit)
    await up.ada.submit({LABELS.other_label: "Zig"})
    text = up.ada.sees(await up.ada.sees_modal()).text
    assert "A, B" in text
    assert "Zig" in text

"""Payloads that the fake rejects: one handwritten case per rule, each with the path of the rejection."""

import pytest

from tests.fakes.discord.problems import Payload, error_tree
from tests.fakes.discord.rules import EDIT_REQUEST, check_callback, check_message, check_modal

V2 = 1 << 15


def text(content: str = "hello") -> Payload:
    return {"type": 10, "content": content}


def button(custom_id: str = "a", **more: object) -> Payload:
    return {"type": 2, "style": 2, "label": "Yes", "custom_id": custom_id, **more}


def row(*inside: Payload) -> Payload:
    return {"type": 1, "components": list(inside)}


def select(count: int = 2, **more: object) -> Payload:
    options = [{"label": f"Option {n}", "value": str(n)} for n in range(count)]
    return {"type": 3, "custom_id": "s", "options": options, **more}


def v2(*components: Payload, **more: object) -> Payload:
    return {"flags": V2, "components": list(components), **more}


def v1(*components: Payload, **more: object) -> Payload:
    return {"content": "x", "components": list(components), **more}


def label(component: Payload, **more: object) -> Payload:
    return {"type": 18, "label": "Name", "component": component, **more}


def field(custom_id: str = "t", **more: object) -> Payload:
    return {"type": 4, "style": 1, "custom_id": custom_id, **more}


def modal(*components: Payload, **more: object) -> Payload:
    return {"custom_id": "m", "title": "Answer", "components": list(components), **more}


def radio(count: int = 2, **more: object) -> Payload:
    options = [{"label": f"Option {n}", "value": str(n)} for n in range(count)]
    return {"type": 21, "custom_id": "r", "options": options, **more}


GOOD_MESSAGES: dict[str, Payload] = {
    "plain": {"content": "x" * 2000, "nonce": "n" * 25, "enforce_nonce": True},
    "v2": v2({"type": 17, "accent_color": 0, "components": [text("x" * 4000), row(button())]}),
    "forty": v2(*[text("x")] * 40),
    "null content": v2(text(), content=None),
    "link": v1(row({"type": 2, "style": 5, "label": "Open", "url": "https://example.com"})),
    "select": v1(row(select(25, min_values=0, max_values=25, placeholder="x" * 150))),
    "section": v2({"type": 9, "components": [text()], "accessory": button()}),
    "emoji": v1(row({"type": 2, "style": 1, "custom_id": "a", "emoji": {"name": "👍"}})),
}


@pytest.mark.parametrize("name", GOOD_MESSAGES)
def test_a_valid_message_passes(name: str) -> None:
    assert check_message(GOOD_MESSAGES[name]) == []


BAD_MESSAGES: dict[str, tuple[Payload, str]] = {
    "v2 with content": (v2(text(), content="x"), "content"),
    "v2 with embeds": (v2(text(), embeds=[{"title": "x"}]), "embeds"),
    "v2 type without the flag": ({"components": [text()]}, "components.0.type"),
    "content 2001": ({"content": "x" * 2001}, "content"),
    "six rows": (v1(*[row(button(str(n))) for n in range(6)]), "components"),
    "forty-one components": (v2(*[row(button(str(n))) for n in range(20)], text()), "components"),
    "text 4001 in all": (v2(text("x" * 2001), text("x" * 2000)), "components"),
    "embeds 6001": (
        {"embeds": [{"description": "x" * 3001}, {"description": "x" * 3000}]},
        "embeds",
    ),
    "empty": ({}, ""),
    "empty v2": (v2(), ""),
    "button beside select": (v1(row(button(), select())), "components.0.components"),
    "two selects": (v1(row(select(), {**select(), "custom_id": "z"})), "components.0.components"),
    "six buttons": (v1(row(*[button(str(n)) for n in range(6)])), "components.0.components"),
    "same custom_id": (v1(row(button(), button())), "components.0.components.1.custom_id"),
    "same id": (v2({**text(), "id": 7}, {**text(), "id": 7}), "components.1.id"),
    "same value": (
        v1(
            row(
                {
                    **select(1),
                    "options": [{"label": "A", "value": "1"}, {"label": "B", "value": "1"}],
                }
            )
        ),
        "components.0.components.0.options.1.value",
    ),
    "min over max": (
        v1(row(select(5, min_values=3, max_values=2))),
        "components.0.components.0.min_values",
    ),
    "max over options": (v1(row(select(2, max_values=3))), "components.0.components.0.max_values"),
    "two defaults of one": (
        v1(
            row(
                {
                    **select(1),
                    "options": [
                        {"label": "A", "value": "1", "default": True},
                        {"label": "B", "value": "2", "default": True},
                    ],
                }
            )
        ),
        "components.0.components.0.options",
    ),
    "26 options": (v1(row(select(26))), "components.0.components.0.options"),
    "no options": (v1(row(select(0))), "components.0.components.0.options"),
    "custom_id 101": (v1(row(button("x" * 101))), "components.0.components.0.custom_id"),
    "label 81": (v1(row(button(label="x" * 81))), "components.0.components.0.label"),
    "label 41 emoji": (v1(row(button(label="👍" * 41))), "components.0.components.0.label"),
    "blank label": (v1(row(button(label=" "))), "components.0.components.0.label"),
    "no custom_id": (
        v1(row({"type": 2, "style": 1, "label": "x"})),
        "components.0.components.0.custom_id",
    ),
    "link with custom_id": (
        v1(row({"type": 2, "style": 5, "label": "x", "url": "https://e.com", "custom_id": "a"})),
        "components.0.components.0.custom_id",
    ),
    "button with url": (
        v1(row(button(url="https://example.com"))),
        "components.0.components.0.url",
    ),
    "misspelt key": (v1(row(button(custom_ID="x"))), "components.0.components.0.custom_ID"),
    "radio in a message": (v2(row(radio())), "components.0.components.0.type"),
    "container in container": (
        v2({"type": 17, "components": [{"type": 17, "components": [text()]}]}),
        "components.0.components.0.type",
    ),
    "bool for a number": (
        v1(row(select(2, max_values=True))),
        "components.0.components.0.max_values",
    ),
    "nonce 26": ({"content": "x", "nonce": "n" * 26}, "nonce"),
    "parse and users": (
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
        "allowed_mentions",
    ),
    "lone surrogate": ({"content": "\ud800"}, "content"),
    "blank text": (v2(text("  ")), "components.0.content"),
}


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_an_invalid_message_is_rejected_at_the_exact_path(name: str) -> None:
    payload, path = BAD_MESSAGES[name]
    assert path in {".".join(map(str, problem.path)) for problem in check_message(payload)}


GOOD_MODALS: dict[str, Payload] = {
    "text": modal(text(), label(field(max_length=4000, value="x", required=False))),
    "radio": modal(label(radio(10))),
    "select": modal(label(select(3, min_values=0, required=False))),
    "disabled false": modal(label(select(3, disabled=False))),
    "null label": modal(label(field(label=None))),
    "checkbox": modal(label({"type": 23, "custom_id": "c", "default": True})),
}


@pytest.mark.parametrize("name", GOOD_MODALS)
def test_a_valid_modal_passes(name: str) -> None:
    assert check_modal(GOOD_MODALS[name]) == []


BAD_MODALS: dict[str, tuple[Payload, str]] = {
    "six": (modal(*[label(field(str(n))) for n in range(6)]), "components"),
    "none": (modal(), "components"),
    "title 46": (modal(label(field()), title="x" * 46), "title"),
    "label 46": (modal({**label(field()), "label": "x" * 46}), "components.0.label"),
    "description 101": (modal(label(field(), description="x" * 101)), "components.0.description"),
    "own label": (modal(label(field(label="x"))), "components.0.component.label"),
    "min over max": (
        modal(label(field(min_length=5, max_length=4))),
        "components.0.component.min_length",
    ),
    "value over max": (
        modal(label(field(max_length=3, value="xxxx"))),
        "components.0.component.value",
    ),
    "min 0 while required": (
        modal(label(select(3, min_values=0))),
        "components.0.component.min_values",
    ),
    "disabled": (modal(label(select(3, disabled=True))), "components.0.component.disabled"),
    "button": (modal(label(button())), "components.0.component.type"),
    "one radio": (modal(label(radio(1))), "components.0.component.options"),
    "eleven radios": (modal(label(radio(11))), "components.0.component.options"),
    "bare input": (modal(field()), "components.0.type"),
    "same ids": (modal(label(field()), label(field())), "components.1.component.custom_id"),
}


@pytest.mark.parametrize("name", BAD_MODALS)
def test_an_invalid_modal_is_rejected_at_the_exact_path(name: str) -> None:
    payload, path = BAD_MODALS[name]
    assert path in {".".join(map(str, problem.path)) for problem in check_modal(payload)}


@pytest.mark.parametrize(
    "body",
    [
        {"type": 1},
        {"type": 4, "data": {"content": "hi", "flags": 64}},
        {"type": 5, "data": {"flags": 64}},
        {"type": 6},
        {"type": 7, "data": {"components": []}},
        {"type": 9, "data": modal(label(field()))},
    ],
)
def test_a_valid_callback_passes(body: Payload) -> None:
    assert check_callback(body) == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"type": 2}, "type"),
        ({"type": True}, "type"),
        ({"data": {}}, "type"),
        ({"type": 4}, "data"),
        ({"type": 4, "data": {}}, "data"),
        ({"type": 5, "data": {"flags": V2}}, "data"),
        ({"type": 6, "data": {"content": "x"}}, "data"),
        ({"type": 9, "data": modal(label(button()))}, "data.components.0.component.type"),
        ({"type": 9}, "data"),
        ({"type": 6, "more": 1}, "more"),
    ],
)
def test_an_invalid_callback_is_rejected_at_the_exact_path(body: Payload, path: str) -> None:
    assert path in {".".join(map(str, problem.path)) for problem in check_callback(body)}


def test_an_edit_cannot_remove_the_v2_flag_or_add_content() -> None:
    old: Payload = {"flags": V2, "components": [text()]}
    paths = [
        each.path
        for each in check_message({"flags": 0, "content": "x"}, schema=EDIT_REQUEST, old=old)
    ]
    assert paths == [("flags",), ("content",)]


def test_the_errors_of_a_rejection_form_a_tree_of_keys() -> None:
    problems = check_message(v1(row(button(label="x" * 81))))
    assert error_tree(problems) == {
        "components": {
            "0": {
                "components": {
                    "0": {
                        "label": {
                            "_errors": [
                                {
                                    "code": "BASE_TYPE_BAD_LENGTH",
                                    "message": "Must be between 0 and 80 in length; it is 81.",
                                }
                            ]
                        }
                    }
                }
            }
        }
    }

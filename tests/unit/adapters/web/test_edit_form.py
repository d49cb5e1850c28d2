"""The inputs of a call that a person changes: what is left as it is keeps its bytes, and nothing else gets in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback_base import json_edits, strict_json
from answerback_web.edit_form import (
    changed_texts,
    edit_inputs,
    is_entered,
    is_input,
    read_edit_form,
)

pytestmark = pytest.mark.rule("WEB-28")
CALL = '{"a": "x\\ny", "n": 1.50, "b": true, "o": {"k": [1, 2.0]}, "z": null, "cr": "1\\r2"}'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each), max_leaves=4
)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_what_a_browser_sends_back_untouched_is_the_same_call_to_the_byte(
    call: dict[str, object],
) -> None:
    written = json.dumps(call)
    inputs = edit_inputs(written)
    # A browser sends line ends as CR LF, and a post has them as LF.
    sent = {each.id: (each.text.replace("\r\n", "\n").replace("\r", "\n"),) for each in inputs}
    read = read_edit_form(sent, written)
    assert isinstance(read, str)
    assert json_edits.merge(written, read) == written
    assert changed_texts(sent, written) == ()


def test_inputs_are_of_the_kinds_of_their_arguments() -> None:
    shown = [(each.name, each.text, each.choices) for each in edit_inputs(CALL)]
    assert shown == [
        ("a", "x\ny", ()),
        ("n", "1.50", ()),
        ("b", "true", ("true", "false")),
        ("o", '{"k": [1, 2.0]}', ()),
        ("z", "null", ()),
        ("cr", '"1\\r2"', ()),  # a text area has no CR
    ]


def test_each_input_changes_its_own_argument_alone() -> None:
    sent = {"e0": ('", "evil": "',), "e1": ("2.500",), "e3": ("[]",)}
    read = read_edit_form(sent, CALL)
    assert isinstance(read, str)
    assert strict_json.parse(read) == {
        **json.loads(CALL),
        "a": '", "evil": "',
        "n": 2.5,
        "o": [],
    }
    assert "2.500" in read
    assert changed_texts(sent, CALL) == ('", "evil": "', "2.500", "[]")


@pytest.mark.parametrize("text", ["1, 2", '1, "evil": 2', "", "01", "NaN", "tru"])
def test_what_is_no_json_is_a_problem_of_its_input(text: str) -> None:
    read = read_edit_form({"e1": (text,), "e2": ("true",)}, CALL)
    assert isinstance(read, tuple)
    assert [each.pointer for each in read] == ["/e1"]
    assert is_input(read[0].pointer[1:])


def test_json_is_taken_as_it_is_written() -> None:
    assert read_edit_form({"edited": ("{1}",), "e0": ("x",)}, CALL) == "{1}"
    assert changed_texts({"edited": (CALL,)}, CALL) == ()
    assert changed_texts({"edited": ("{1}",)}, CALL) == ("{1}",)
    assert is_entered({"edited": ("",)})
    assert not is_entered({"reply": ("",)})
    assert not is_input("edited")

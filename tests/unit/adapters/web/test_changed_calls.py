"""A changed call is allowed only as its person read it; what they change later is shown again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.edited_call import EditedCall, digest_of
from answerback.core.editing import AllowEdited
from answerback.core.labels import Labels
from answerback.dialects.approvals import edits
from answerback_web import parse, posts, render
from answerback_web.posts import ChangedCall, InvalidPost, Post
from tests.unit.bot.dialect_support import act, ask_from_call

pytestmark = pytest.mark.rule("WEB-28")
LABELS = Labels()
CALL: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make", "timeout": 5}}
CHANGED = '{"command": "make all", "timeout": 5}'


def editable(**placed: Any) -> Ask:
    ask = ask_from_call("PermissionRequest", CALL)
    request = ask.request.model_copy(
        update={"editable": edits.editable_calls("PermissionRequest", CALL)}
    )
    placement = replace(ask.placement, **{"responders": ("ann",), **placed})
    return replace(ask, request=request, placement=placement)


def post(do: str, **fields: str) -> Post:
    sent = {"do": do, "at": "0", "revision": "1", "e0": "make all", "e1": "5", **fields}
    parsed = posts.parse_post(urlencode(sent).encode())
    assert parsed is not None
    return parsed


def read_digest(ask: Ask, sent: Post) -> str:
    page = render.ask_page(ask, LABELS, post=sent)
    assert page.edit is not None
    assert page.edit.preview is not None
    return page.edit.preview.digest


def test_what_was_read_is_allowed_with_a_note_and_with_comments() -> None:
    ask = editable()
    digest = read_digest(ask, post("change"))
    assert digest == digest_of(CHANGED)
    sent = post("allow_changed:0", edit_seen=digest, note="On staging.")
    assert parse.interpret_post(sent, ask, LABELS) == AllowEdited(
        value="allow", edited=CHANGED, note="On staging."
    )
    sent = post("allow_changed:0", edit_seen=digest, comments='[[0, "make", "All of it."]]')
    assert parse.interpret_post(sent, ask, LABELS) == AllowEdited(
        value="allow", edited=CHANGED, note="> make\n\nAll of it."
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"edit_seen": digest_of('{"command": "make none", "timeout": 5}')},
        {"edit_seen": ""},
        {"edit_seen": digest_of(CHANGED), "e1": "6"},
    ],
)
def test_what_was_not_read_is_shown_and_not_allowed(fields: dict[str, str]) -> None:
    sent = post("allow_changed:0", **fields)
    assert parse.interpret_post(sent, editable(), LABELS) == ChangedCall()


def test_without_a_choice_nothing_is_allowed() -> None:
    for do in ("allow_changed", "allow_changed:x", "allow_changed:9"):
        sent = post(do, edit_seen=digest_of(CHANGED))
        assert parse.interpret_post(sent, editable(), LABELS) == ChangedCall()


@pytest.mark.parametrize("do", ["change", "change_json", "allow_changed:0"])
def test_where_nobody_may_change_it_there_is_no_editor(do: str) -> None:
    sent = post(do, edit_seen=digest_of(CHANGED))
    for ask in (editable(responders=("anyone",)), ask_from_call("PermissionRequest", CALL)):
        assert isinstance(parse.interpret_post(sent, ask, LABELS), InvalidPost)
        assert render.ask_page(ask, LABELS, post=sent).edit is None


def test_a_problem_of_the_call_stands_above_the_inputs_and_nothing_is_previewed() -> None:
    ask, sent = editable(), post("change", edited='["make"]')
    refused = parse.interpret_post(sent, ask, LABELS)
    assert isinstance(refused, InvalidPost)
    page = render.ask_page(ask, LABELS, post=sent, problems=refused.problems)
    assert page.errors_of("edit")
    assert page.edit is not None
    assert (page.edit.preview, page.edit.json) == (None, '["make"]')


def test_a_change_that_came_too_late_is_given_back_without_what_was_left_as_it_was() -> None:
    ask = editable()
    assert parse.typed_texts(post("change"), ask) == ("make all",)
    assert parse.typed_texts(post("change", e0="make"), ask) == ()


def test_after_back_the_editor_starts_with_what_was_changed_before() -> None:
    ask = editable()
    read = edits.read_edit(ask.request, ask.request.editable[0], CHANGED)
    assert isinstance(read, EditedCall)
    form = ask.form.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    ask = replace(ask, request=ask.request.model_copy(update={"form": form}))
    ask = act(ask, Answer(value="allow", edited=read))
    shown = render.ask_page(ask, LABELS)
    assert shown.edit is None
    [row] = shown.rows
    assert row.difference is not None
    assert row.answers == ("Allow once",)
    again = render.ask_page(act(ask, Back()), LABELS).edit
    assert again is not None
    assert [each.text for each in again.inputs] == ["make all", "5"]

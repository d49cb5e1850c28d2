"""The contract of dialects: a class of tests that each plug-in's tests inherit.

A subclass sets ``dialect`` and ``vectors``, a JSON file with cases: a call, what people do, and the result; see
`docs/forms-and-dialects.md`. The plug-in must be installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from answerback.api.action_bodies import ActionBody, action_from_body
from answerback.core.actions import Action, EndTurn, Object
from answerback.core.ask import (
    ANYONE,
    Ask,
    Change,
    Destination,
    Reason,
    Status,
    apply_action,
    end_ask,
)
from answerback.core.confirmation import ConfirmationRule
from answerback.core.errors import InvalidCallError
from answerback.core.json_schema import schemas
from answerback.core.walker import GivenAnswer, Person, Phase, Walk
from answerback.dialects import registry
from answerback.dialects.dialect import Dialect
from answerback.dialects.installed import installed_dialects
from answerback.service.ask_wire import ask_json
from answerback_testing.example_asks import new_ask

_BODY: TypeAdapter[ActionBody] = TypeAdapter(ActionBody)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


def open_ask(call: dict[str, Any]) -> Ask:
    """Return the open ask of a call.

    Raises:
        InvalidCallError: with every mistake in it.
    """
    parsed = registry.parse_call(call["name"], call["arguments"])
    request = {
        "name": call["name"],
        "dialect": parsed.dialect,
        "arguments": parsed.arguments,
        "repaired": parsed.repaired,
    }
    to = Destination(surface="web")
    return new_ask(to=to, form=parsed.form, responders=(ANYONE,), at=0, request=request)


def act(ask: Ask, body: dict[str, Any]) -> Ask | None:
    """Return the ask after a person's action, or None if the action was refused."""
    action = action_from_body(_BODY.validate_python(body).root)
    assert isinstance(action, get_args(Action)), "the others end nothing"
    done = apply_action(ask, action, at=1, by=Person(surface="web", user_id="U1"))
    return done.ask if isinstance(done, Change) else None


def answer_in_words(call: dict[str, Any]) -> tuple[Ask, list[str]] | None:
    """Return a call's ask once it is answered, in a person's own words where it takes any, and these words.

    None if no words, choices or prefilled values answer it.
    """
    ask, texts = open_ask(call), list[str]()
    while ask.open:
        prompt: Any = ask_json(ask)["prompt"]
        word = f"({len(texts)} sesame)"
        match prompt:
            case {"kind": "review"}:
                body: dict[str, Any] = {"action": "submit"}
            case {"answer_type": "text"}:
                body = {"action": "answer", "value": word}
            case {"other": True}:
                body = {"action": "other", "text": word}
            case {"answer_type": "boolean"}:
                body = {"action": "answer", "value": True}
            case {"answer_type": "select", "options": [option, *_]}:
                body = {"action": "answer", "value": option["value"]}
            case _:
                empty: Any = [] if prompt["answer_type"] == "multi_select" else {}
                given = empty if prompt["prefill"] is None else prompt["prefill"]
                body = {"action": "answer", "value": given}
        texts += [word] * (word in body.values())
        after = act(ask, body)
        if after is None:
            return None
        ask = after
    return ask, texts


def check_that_no_answer_is_lost(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        if "invalid" not in case and (ended := answer_in_words(case["call"])):
            ask, texts = ended
            result = registry.render_result(ask)
            assert result is not None
            places = [result.content.find(word) for word in texts]
            assert -1 not in places, case["title"]
            assert places == sorted(places), case["title"]


UNCONFIRMED: Final = "sesame"
"""The answer to every question that `end_unconfirmed` answers."""


def end_unconfirmed(call: dict[str, Any]) -> Iterator[Ask]:
    """Return the ask of a call as it has ended, in every way, with answers that another person had to confirm."""
    asked = open_ask(call)
    form = asked.form.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    questions = form.questions
    answers = tuple(GivenAnswer(question_id=each.id, value=UNCONFIRMED) for each in questions)
    request = asked.request.model_copy(update={"form": form})
    waiting = replace(asked, request=request, walk=Walk(phase=Phase.CONFIRMATION, answers=answers))
    for action in (Object(text="No"), Object(), EndTurn()):
        ended = apply_action(waiting, action, at=1, by=Person(surface="web", user_id="U2"))
        assert isinstance(ended, Change)
        yield ended.ask
    for status in (Status.EXPIRED, Status.WITHDRAWN):
        yield end_ask(waiting, status, at=1, reason=Reason(status.value)).ask


def run_vector(case: dict[str, Any], dialect: str) -> None:
    """Check one case."""
    if "invalid" in case:
        with pytest.raises(InvalidCallError) as refused:
            open_ask(case["call"])
        found = [{"pointer": p.pointer, "code": p.code} for p in refused.value.problems]
        assert found == case["invalid"]
        return
    ask = open_ask(case["call"])
    assert ask.request.dialect == dialect
    _check_prompt(ask, case.get("first_prompt", {}))
    for step in case["steps"]:
        after = act(ask, step["do"])
        assert (422 if after is None else 200) == step["http"], step
        ask = after or ask
        _check_prompt(ask, step.get("prompt", {}))
    shown: Any = ask_json(ask)
    assert shown["status"] == case["end"]["status"]
    for key in {"structured", "content"} & case["end"].keys():
        assert (shown["tool_result"] or {}).get(key) == case["end"][key]


def _check_prompt(ask: Ask, expected: dict[str, Any]) -> None:
    prompt: Any = ask_json(ask)["prompt"]
    assert {key: prompt[key] for key in expected} == expected


class DialectContract:
    """The behaviour of every dialect."""

    dialect: ClassVar[Dialect]
    vectors: ClassVar[Path]

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases of the vectors."""
        cases: list[dict[str, Any]] = json.loads(self.vectors.read_text("utf-8"))
        return cases

    @pytest.mark.rule("PLUGIN-5")
    def test_it_is_installed(self) -> None:
        """Its entry point is found."""
        assert installed_dialects().usable[self.dialect.name] is self.dialect

    @pytest.mark.rule("PLUGIN-5")
    def test_its_vectors(self) -> None:
        """Each call comes out as its vector says."""
        assert self.cases
        for case in self.cases:
            run_vector(case, self.dialect.name)

    @pytest.mark.rule("PLUGIN-5")
    def test_its_definition_fits_its_calls(self) -> None:
        """The definition's schema is usable and accepts the valid calls of the vectors."""
        tool = self.dialect.tool
        if tool is not None:
            schemas.require_usable(tool.parameters)
            for case in self.cases:
                if "invalid" not in case and case["call"]["name"] == tool.name:
                    assert schemas.violations(tool.parameters, case["call"]["arguments"]) == ()

    @pytest.mark.rule("DIALECT-4", "PLUGIN-5")
    @settings(
        deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors]
    )
    @given(data=st.data())
    def test_no_arguments_make_it_raise_any_other_error(self, data: st.DataObject) -> None:
        """Whatever is wrong in a call, it returns a form or its mistakes."""
        call = data.draw(st.sampled_from([c["call"] for c in self.cases if "invalid" not in c]))
        fields = sorted({key for case in self.cases for key in case["call"]["arguments"]})
        wrong = data.draw(st.dictionaries(st.sampled_from(fields), _JSON))
        try:
            found = open_ask({**call, "arguments": call["arguments"] | wrong})
        except InvalidCallError as error:
            listed = len(error.problems)
        else:
            listed = len(found.form.questions)
        assert listed > 0

    @pytest.mark.rule("DIALECT-6", "PLUGIN-5")
    def test_no_answer_is_lost(self) -> None:
        """Answers in somebody's own words are in the result, in the order of the questions."""
        check_that_no_answer_is_lost(self.cases)

    @pytest.mark.rule("CONFIRM-12", "PLUGIN-5")
    def test_answers_that_nobody_confirmed_are_not_in_its_results(self) -> None:
        """However the ask ends."""
        for case in self.cases:
            if "invalid" not in case:
                for ended in end_unconfirmed(case["call"]):
                    assert UNCONFIRMED not in json.dumps(ask_json(ended)), ended.status

    @pytest.mark.rule("DIALECT-6", "PLUGIN-5")
    @pytest.mark.parametrize("status", [Status.EXPIRED, Status.WITHDRAWN, Status.FAILED])
    def test_an_ask_without_a_person_has_a_result(self, status: Status) -> None:
        """Expired and withdrawn asks are not errors; a failed one is."""
        for case in self.cases:
            if "invalid" not in case:
                reason = (
                    Reason(status.value) if status is not Status.FAILED else Reason.BACKEND_ERROR
                )
                ended = end_ask(open_ask(case["call"]), status, at=1, reason=reason)
                result = registry.render_result(ended.ask)
                assert result is not None
                assert result.content

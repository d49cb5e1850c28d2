"""Render what would be sent to Discord, and check that Discord would accept it: for the tests of Discord's limits."""

from __future__ import annotations

from typing import Any

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat.control_codec import Verb
from answerback_discord import components, form_inputs, modals, render
from answerback_discord.components import Json
from answerback_discord.form_inputs import ModalSpec
from tests.fakes.discord.rules import check_message, check_modal
from tests.unit.adapters.discord.examples import ask_of, question

LABELS = Labels()
BOOLEAN, SELECT, MULTI, TEXT, SCHEMA = (
    AnswerType.BOOLEAN,
    AnswerType.SELECT,
    AnswerType.MULTI_SELECT,
    AnswerType.TEXT,
    AnswerType.SCHEMA,
)


def one(kind: AnswerType, **fields: object) -> Ask:
    return ask_of(Form(questions=(question(kind, **fields),)))


def shown(ask: Ask, labels: Labels = LABELS) -> list[Json]:
    """The components of the live message, checked against Discord's rules."""
    message = render.message(view_of(ask), labels)
    assert check_message(message) == []
    return list(components.iter_components(message["components"]))


def of_type(kind: int, components: list[Json]) -> list[Any]:
    return [each for each in components if each["type"] == kind]


def opened(ask: Ask, verb: Verb = Verb.FILL, page: int = 0) -> list[Json]:
    """The components of a page of the modal that a control opens, checked against Discord's rules."""
    view = view_of(ask)
    spec = form_inputs.modal_spec(view, verb, LABELS)
    assert spec is not None
    return filled(ask, spec, page)


def filled(ask: Ask, spec: ModalSpec, page: int = 0) -> list[Json]:
    data = modals.modal(view_of(ask), spec, Verb.FILL, page, {}, "nonce123", LABELS)
    assert check_modal(data) == []
    return list(components.iter_components(data["components"]))


def schema_ask(**properties: object) -> Ask:
    return one(SCHEMA, json_schema={"type": "object", "properties": properties})

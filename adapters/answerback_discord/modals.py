"""Render one page of a modal spec as a Discord modal. Pure.

https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation.text_fitting import utf16_length
from answerback_chat.control_codec import Control, Verb
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import Json
from answerback_discord.markdown_text import fit_line, shorten, shorten_code_block
from answerback_discord.modal_pages import InputKind, ModalInput, ModalSpec, Values

SHORT, PARAGRAPH = 1, 2
INTRO_BUDGET: Final = 2_000


def modal(
    view: View, spec: ModalSpec, verb: Verb, page: int, values: Values, nonce: str, labels: Labels
) -> Json:
    """Return the `data` of the callback that opens one page.

    Args:
        values: the values entered so far, by slot name; a slot without one starts with the spec's initial value.
        nonce: fresh each time the modal is opened, because clients remember what they showed under an id
            (https://github.com/discord/discord-api-docs/issues/7554).
    """
    pages = spec.pages()
    page_label = labels.page_of.format(page=page + 1, pages=len(pages)) if len(pages) > 1 else ""
    title_budget = limits.MODAL_TITLE - (len(page_label) + 3 if page_label else 0)
    title = (
        f"{fit_line(spec.title, title_budget)} · {page_label}"
        if page_label
        else fit_line(spec.title, title_budget)
    )
    parts: list[Json] = []
    if spec.intro:
        intro, _ = (shorten_code_block if spec.code else shorten)(spec.intro, INTRO_BUDGET)
        parts.append(c.text(intro))
    parts += [_labelled_input(slot, values.get(slot.name, slot.start)) for slot in pages[page]]
    custom_id = Control(view.ask_id, view.revision, verb, f"{page}.{nonce}").encode()
    return {
        "custom_id": custom_id,
        "title": fit_line(title, limits.MODAL_TITLE),
        "components": [*parts],
    }


def _labelled_input(slot: ModalInput, value: JsonValue) -> Json:
    label: Json = {
        "type": c.LABEL,
        "label": fit_line(slot.label, limits.LABEL_TEXT),
        "component": _input(slot, value),
    }
    if slot.description.strip():
        label["description"] = fit_line(slot.description, limits.LABEL_DESCRIPTION)
    return label


def _lengths(slot: ModalInput, text: str) -> Json:
    """The length bounds of a text input, without any that its own text breaks: Discord would refuse the modal.

    An optional input has no minimum, because a client might enforce it even if nothing is entered.
    """
    least, most = slot.lengths
    bound = most if most is not None and max(utf16_length(text), 1) <= most else limits.INPUT_VALUE
    bound = min(bound, limits.INPUT_VALUE)
    if least and slot.required and least <= bound and not 0 < len(text) < least:
        return {"min_length": least, "max_length": bound}
    return {"max_length": bound}


def _input(slot: ModalInput, value: JsonValue) -> Json:
    if slot.kind in {InputKind.LINE, InputKind.LINES}:
        text = value if isinstance(value, str) else ""
        text_input: Json = {
            "type": c.TEXT_INPUT,
            "custom_id": slot.name,
            "style": SHORT if slot.kind is InputKind.LINE else PARAGRAPH,
            "required": slot.required,
            **_lengths(slot, text),
        }
        if slot.placeholder:
            text_input["placeholder"] = fit_line(slot.placeholder, limits.INPUT_PLACEHOLDER)
        return text_input | {"value": text} if text else text_input
    chosen = set(map(str, value)) if isinstance(value, list) else set()
    options = [
        c.option(label, str(i), description, str(i) in chosen)
        for i, (label, description) in enumerate(slot.options)
    ]
    if slot.kind is InputKind.RADIO:
        return {
            "type": c.RADIO_GROUP,
            "custom_id": slot.name,
            "required": slot.required,
            "options": [*options],
        }
    least = max(slot.least, 1 if slot.required else 0)
    most = max(slot.most, len(chosen))  # Discord refuses more defaults than can be chosen
    if slot.kind is InputKind.MENU:
        return c.select(
            slot.name,
            options,
            least=least,
            most=most,
            placeholder=fit_line(slot.placeholder, limits.PLACEHOLDER),
            required=slot.required,
        )
    return {
        "type": c.CHECKBOX_GROUP,
        "custom_id": slot.name,
        "required": slot.required,
        "min_values": least,
        "max_values": most,
        "options": [*options],
    }

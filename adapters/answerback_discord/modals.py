"""Render one page of a form as a Discord modal. Pure.

https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry, placeholder
from answerback.core.schema_fields import FieldKind
from answerback.core.view import View
from answerback.presentation.form_inputs import Input, InputKind
from answerback.presentation.text_fitting import utf16_length
from answerback_chat.control_codec import Control, Verb
from answerback_discord import components as c
from answerback_discord import limits
from answerback_discord.components import Json
from answerback_discord.form_inputs import ModalSpec, Values, part_label
from answerback_discord.markdown_text import fit_line, shorten, shorten_code_block

SHORT, PARAGRAPH = 1, 2
INTRO_BUDGET: Final = 2_000
UPLOAD: Final = "files"
"""The custom_id of the input for files."""
LONG_TEXT: Final = 100
"""A text that may be longer than this many characters gets a multi-line input."""


def modal(
    view: View, spec: ModalSpec, verb: Verb, page: int, values: Values, nonce: str, labels: Labels
) -> Json:
    """Return the `data` of the callback that opens one page.

    Args:
        values: what was entered so far, by input; an input without a value starts with its own.
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
        shorten_intro = shorten_code_block if spec.form.schema is not None else shorten
        intro, _ = shorten_intro(spec.intro, INTRO_BUDGET)
        parts.append(c.text(intro))
    parts += [
        _labelled_input(each, values.get(each.id, _encode(each.start)), labels)
        for each in pages[page]
    ]
    if spec.form.takes_files and page + 1 == len(pages):
        parts.append(_upload(labels))
    custom_id = Control(view.ask_id, view.revision, verb, f"{page}.{nonce}").encode()
    return {
        "custom_id": custom_id,
        "title": fit_line(title, limits.MODAL_TITLE),
        "components": [*parts],
    }


def _upload(labels: Labels) -> Json:
    """The input for files: https://docs.discord.com/developers/components/reference#file-upload"""
    upload: Json = {
        "type": c.FILE_UPLOAD,
        "custom_id": UPLOAD,
        "required": False,
        "min_values": 0,
        "max_values": limits.UPLOADS,
    }
    return {
        "type": c.LABEL,
        "label": fit_line(labels.attach, limits.LABEL_TEXT),
        "description": fit_line(labels.attach_in_chat, limits.LABEL_DESCRIPTION),
        "component": upload,
    }


def _labelled_input(each: Input, value: JsonValue, labels: Labels) -> Json:
    label: Json = {
        "type": c.LABEL,
        "label": fit_line(part_label(each), limits.LABEL_TEXT),
        "component": _component(each, value, labels),
    }
    if each.hint.strip():
        label["description"] = fit_line(each.hint, limits.LABEL_DESCRIPTION)
    return label


def _component(each: Input, value: JsonValue, labels: Labels) -> Json:
    if each.kind is InputKind.PERSON:
        return {"type": c.USER_SELECT, "custom_id": each.id, "required": each.required}
    return _text_input(each, value) if each.is_typed else _choice(each, value, labels)


def _encode(start: FieldEntry) -> JsonValue:
    if isinstance(start, list):
        return [str(i) for i in start]
    return None if isinstance(start, tuple) else start  # no form in Discord has rows


def _text_input(each: Input, value: JsonValue) -> Json:
    text = value if isinstance(value, str) else ""
    made: Json = {
        "type": c.TEXT_INPUT,
        "custom_id": each.id,
        "style": PARAGRAPH if _has_lines(each) else SHORT,
        "required": each.required,
        **_lengths(each, text),
    }
    if each.field is not None and (example := placeholder(each.field)):
        made["placeholder"] = fit_line(example, limits.INPUT_PLACEHOLDER)
    return made | {"value": text} if text else made


def _has_lines(each: Input) -> bool:
    field = each.field
    if each.kind is InputKind.LINE:
        return False
    if field is None or each.choices or each.part or "\n" in str(each.start):
        return True
    return field.kind is FieldKind.TEXT and (field.max_length or limits.INPUT_VALUE) > LONG_TEXT


def _lengths(each: Input, text: str) -> Json:
    """The length bounds of a text input, without any that its own text breaks: Discord would refuse the modal.

    An optional input has no minimum, because a client might enforce it even if nothing is entered.
    """
    field = each.field
    if field is None or field.kind is not FieldKind.TEXT or each.part:
        return {"max_length": limits.INPUT_VALUE}
    least, most = field.min_length, field.max_length
    bound = most if most is not None and max(utf16_length(text), 1) <= most else limits.INPUT_VALUE
    bound = min(bound, limits.INPUT_VALUE)
    if least and each.required and least <= bound and not 0 < len(text) < least:
        return {"min_length": least, "max_length": bound}
    return {"max_length": bound}


def _choice(each: Input, value: JsonValue, labels: Labels) -> Json:
    chosen = set(map(str, value)) if isinstance(value, list) else set()
    count, several = len(each.choices), each.kind is InputKind.SEVERAL
    options = [
        c.option(
            fit_line(choice.label, limits.OPTION_LABEL),
            str(i),
            fit_line(choice.description, limits.OPTION_DESCRIPTION),
            str(i) in chosen,
        )
        for i, choice in enumerate(each.choices)
    ]
    if not several and limits.RADIO_OPTIONS_LEAST <= count <= limits.RADIO_OPTIONS:
        return c.choice_group(c.RADIO_GROUP, each.id, options, required=each.required)
    bound = each.field.max_items if each.field else None
    most = min(bound or count, count) if several else 1
    least = min(each.field.min_items, most) if each.field and several and each.required else 0
    least = max(least, 1 if each.required else 0)
    most = max(most, len(chosen))  # Discord refuses more defaults than can be chosen
    if several and count <= limits.CHECKBOX_OPTIONS:
        bounds = {"min_values": least, "max_values": most}
        return c.choice_group(c.CHECKBOX_GROUP, each.id, options, required=each.required, **bounds)
    return c.select(
        each.id,
        options,
        least=least,
        most=most,
        placeholder=fit_line(labels.choose, limits.PLACEHOLDER),
        required=each.required,
    )

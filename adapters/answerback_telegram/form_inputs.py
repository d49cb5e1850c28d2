"""Ask for what has to be typed in messages that people reply to; see `answerback_chat.typed_entries`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.surface import Asks
from answerback.presentation.form_inputs import Input
from answerback.presentation.form_spec import Entry as FormEntry
from answerback.presentation.form_spec import FormSpec
from answerback.presentation.text_fitting import shorten as cut
from answerback_base.sanitize import visible
from answerback_chat import message_texts
from answerback_chat.control_codec import Verb
from answerback_chat.typed_entries import KEEP, TypedEntries
from answerback_telegram import keyboards, option_controls
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.html_text import escape, preformatted, shorten
from answerback_telegram.keyboards import Json, button
from answerback_telegram.parse import SURFACE, Click
from answerback_telegram.people_text import MARKUP, Names, mention
from answerback_telegram.render import compose

_START_BUDGET: Final = 2_000
_MESSAGES: Final = frozenset({FormEntry.REPLY, FormEntry.OBJECT, FormEntry.TRY_AGAIN})
"""Entries of a message to the agent, with a text or without."""
_TEXT_BUDGET: Final = 900
_CHOICES: Final = 30
"""Choices that a request lists; more are read with "Show in full"."""


class TypedRequests(TypedEntries[Click]):
    surface = SURFACE
    limits = option_controls.FORM_LIMITS
    note_limits = option_controls.SELECTION_LIMITS

    def __init__(self, asks: Asks, helpers: HelperMessages, labels: Labels) -> None:
        super().__init__(asks, labels)
        self._helpers = helpers

    async def _send(
        self,
        click: Click,
        live: str,
        view: View,
        spec: FormSpec,
        each: Input,
        names: Mapping[str, str],
    ) -> str:
        payload = self._render(click, view, spec, each, names)
        return await self._helpers.send(click.place, payload, live)

    async def _delete(self, message: str) -> None:
        await self._helpers.delete(message)

    async def _tell(self, click: Click, problems: Sequence[Problem]) -> None:
        text = message_texts.problems_text(problems, self._labels, MARKUP)
        await self._helpers.send(click.place, compose([text], []), click.typed or click.message)

    def _render(self, click: Click, view: View, spec: FormSpec, each: Input, names: Names) -> Json:
        who = (
            mention(click.actor.person.user_id, click.actor.person.name or "")
            if click.place.is_group
            else ""
        )
        start = each.start if isinstance(each.start, str) else ""
        number = f" {each.position + 1}/{len(spec.inputs)}" if len(spec.inputs) > 1 else ""
        title = each.label if spec.fields or spec.entry is FormEntry.NOTE else spec.title
        above = " ".join(filter(None, (who, shorten(f"{title}{number}", 200, "b")[0])))
        parts = [
            above,
            shorten(spec.question, _TEXT_BUDGET // 2)[0] if not spec.fields else "",
            shorten("\n".join(filter(None, (spec.selection, spec.about))), _TEXT_BUDGET)[0],
            shorten(each.hint, _TEXT_BUDGET, "i")[0],
            "\n".join(
                escape(f"{i}. {names.get(c.label, c.label)}")
                for i, c in enumerate(each.choices[:_CHOICES], 1)
            ),
            preformatted(cut(visible(start), _START_BUDGET)) if start else "",
        ]
        payload = compose(parts, self._rows(view, spec, each, start))
        if not payload["reply_markup"]["inline_keyboard"]:  # type: ignore[index,call-overload] # our own
            forced: Json = {"force_reply": True, "selective": True}
            payload["reply_markup"] = forced
        return payload

    def _rows(self, view: View, spec: FormSpec, each: Input, start: str) -> list[keyboards.Row]:
        """The buttons for what cannot be typed: nothing at all, and what the input starts with."""
        labels = self._labels
        verb = Verb(spec.entry.value)
        if spec.entry is FormEntry.TEXT or (
            spec.entry not in _MESSAGES and each.required and not start
        ):
            return []
        buttons = []
        if start and spec.entry not in _MESSAGES:
            buttons.append(button(view, f"{labels.continue_}: {start}", verb, KEEP))
        if not each.required:
            word = labels.send if spec.entry in _MESSAGES else labels.continue_
            buttons.append(button(view, f"{word} {labels.none_chosen}", verb, keyboards.EMPTY))
        return [*keyboards.rows(buttons), [button(view, labels.cancel, verb, keyboards.CLOSE)]]

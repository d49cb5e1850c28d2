"""A person at a browser without JavaScript, for the suite that every surface passes."""

from __future__ import annotations

import json

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.store import Write
from answerback.testing.store_examples import new_ask
from tests.browser.site import Site, answering_path
from tests.unit.adapters.web.reader import Document, Reader

_OFFERS = {"back", "reply", "end_turn", "submit"}


class WebDesk:
    """See `answerback.testing.surface_contract.Desk`."""

    live = False

    def __init__(self, site: Site, reader: Reader) -> None:
        self._site = site
        self._reader = reader
        self._count = 0
        self._path = ""
        self._page = Document("")

    async def opens(self, form: Form) -> str:
        """An ask of this form on the page."""
        self._count += 1
        ask = new_ask(
            f"{self._count:024x}",
            to=Destination(surface="web"),
            form=form,
            responders=("anyone",),
        )
        await self._site.service.store.create(Write(ask), None)
        self._path = answering_path(ask)
        self._page = await self._reader.open(self._path)
        return ask.id

    async def stored(self, ask_id: str) -> Ask:
        """The ask; the page that was answered shows it, whatever is noted."""
        ask = await self._site.service.get(ask_id)
        assert ask is not None
        return ask

    async def reads(self, ask_id: str) -> str:
        """The page."""
        self._page = await self._reader.open(self._path)
        return self._page.text

    def offers(self, ask_id: str) -> set[str]:
        """By the buttons, and the choice of one's own words."""
        offered = _OFFERS & self._page.buttons.keys()
        inputs = [attrs for tag, attrs in self._page.tags if tag == "input"]
        own = any((one.get("name"), one.get("value")) == ("choice", "other") for one in inputs)
        return offered | ({"other"} if own else set())

    async def starts_from(self, question: Question) -> JsonValue:
        """What is selected, highlighted or filled in."""
        page = self._page
        match question.answer_type:
            case AnswerType.TEXT:
                return page.value("text") or None
            case AnswerType.SCHEMA:
                text = page.value("json") if page.value("f0") is None else page.value("f0")
                return json.loads(text) if text else None
            case AnswerType.BOOLEAN:
                buttons = [attrs for tag, attrs in page.tags if tag == "button"]
                primary = [b.get("value") for b in buttons if "primary" in (b.get("class") or "")]
                return {"yes": True, "no": False}.get(str(primary[0])) if primary else None
            case AnswerType.SELECT | AnswerType.MULTI_SELECT:
                places = [int(one) for one in page.values("choice") if one != "other"]
                values: list[JsonValue] = [question.options[place].value for place in places]
                if question.answer_type is AnswerType.MULTI_SELECT:
                    return values or None
                return values[0] if values else None

    async def answers(self, question: Question, value: JsonValue) -> None:
        """By a button, boxes or an input."""
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._press("yes" if value else "no")
            case AnswerType.SELECT | AnswerType.MULTI_SELECT:
                wanted = value if isinstance(value, list) else [value]
                places = [str(i) for i, o in enumerate(question.options) if o.value in wanted]
                if question.answer_type is AnswerType.SELECT:
                    places = places[:1]
                await self._choose(places)
            case AnswerType.TEXT:
                await self._press("answer", [("text", str(value))])
            case AnswerType.SCHEMA:
                if self._page.value("f0") is None:
                    await self._press("answer", [("json", json.dumps(value))])
                    return
                whole = value["n"] if isinstance(value, dict) else value
                await self._press("answer", [("f0", "" if whole is None else json.dumps(whole))])

    async def _choose(self, places: list[str], other: str = "") -> None:
        self._page.fields = [pair for pair in self._page.fields if pair[0] != "choice"]
        await self._press("answer", [*(("choice", place) for place in places), ("other", other)])

    async def writes_other(self, text: str) -> None:
        """By the last choice and the words beside it."""
        boxes = any(attrs.get("type") == "checkbox" for _, attrs in self._page.tags)
        selected = self._page.values("choice") if boxes else []
        await self._choose([*selected, "other"], text)

    async def goes_back(self) -> None:
        """By its button."""
        await self._press("back")

    async def edits(self, ask: Ask, question: Question) -> None:
        """By the button beside the answer."""
        await self._press(f"edit:{ask.form.index(question.id)}")

    async def submits(self) -> None:
        """By its button."""
        await self._press("submit")

    async def replies(self, text: str | None) -> None:
        """By the box below the question."""
        await self._press("reply", [("reply", text or "")])

    async def ends_turn(self) -> None:
        """By its button, and the page that asks whether one means it."""
        await self._press("end_turn")
        await self._press("end_turn_now")

    async def _press(self, do: str, entered: list[tuple[str, str]] | None = None) -> None:
        assert do in self._page.buttons, (do, self._page.buttons)
        self._page = await self._reader.press(self._page, self._path, do, entered or [])
        assert self._page.status == 200

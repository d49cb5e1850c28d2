"""The web page's stage and simulated people in browsers without JavaScript, for the contract of surfaces."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.walker import Person, question_index
from answerback.ports.person_key import KeyHolder, operator_holder
from answerback.workers.message_sync import MessageSync
from answerback_testing.simulated_people import ShownButton, SimulatedPerson
from answerback_testing.surface_harness import (
    SWEEP,
    SurfaceHarness,
    combine_replicas,
    follow_other_replicas,
)
from answerback_web.page_access import PageLinks
from tests.browser.site import SECRET, site
from tests.surface_setups import LoadBalancer, Setup
from tests.unit.adapters.web.reader import Document, Reader, reader

_OFFERS = {
    "back",
    "ask_back",
    "hand_over",
    "reply",
    "end_turn",
    "submit",
    "confirm",
    "object",
    "try_again",
}


class WebStage:
    """See `answerback_testing.simulated_people.Stage`."""

    place = Destination(surface="web")

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._keys: dict[str, Person] = {}
        self._up = AsyncExitStack()
        self._balancer = LoadBalancer("", self._set_url)
        self._url: str
        self.harness: SurfaceHarness

    async def add_person(self, name: str) -> SimulatedWebPerson:
        key = f"abk_{len(self._keys)}"
        person = Person(surface="web", user_id=f"{name}{len(self._keys)}@example.com", name=name)
        self._keys[key] = person
        return SimulatedWebPerson(self, operator_holder(key, person))

    async def restart(self) -> None:
        await self._up.aclose()
        self._up.push_async_callback(self._balancer.stop)
        self.harness = combine_replicas(
            [await self._start_replica() for _ in range(self._setup.replicas)]
        )
        self.reader: Reader = await self._up.enter_async_context(reader(self._url))

    async def _start_replica(self) -> SurfaceHarness:
        up = await self._up.enter_async_context(site(self._setup.database, keys=self._keys))
        message_sync = MessageSync(up.service)
        await self._up.enter_async_context(follow_other_replicas(up.service, message_sync))
        self._up.push_async_callback(message_sync.stop)
        await message_sync.sweep(SWEEP)
        await self._balancer.serve(up.url)
        return SurfaceHarness(up.service, message_sync)

    def _set_url(self, url: str) -> None:
        self._url = url

    async def stop(self) -> None:
        await self._up.aclose()


@asynccontextmanager
async def run_stage(setup: Setup) -> AsyncIterator[WebStage]:
    """Run a site with its service, or several behind a load balancer."""
    stage = WebStage(setup)
    try:
        await stage.restart()
        yield stage
    finally:
        await stage.stop()


class SimulatedWebPerson:
    """See `answerback_testing.simulated_people.SimulatedPerson`."""

    def __init__(self, stage: WebStage, holder: KeyHolder) -> None:
        self._stage = stage
        self._holder = holder
        self.user_id = holder.person.user_id
        self.name = holder.person.name or ""
        self._rejections: list[str] = []
        self._path = ""
        self._page = Document("")

    async def look_at(self, ask: Ask) -> None:
        self._path = f"/a/{PageLinks(SECRET).answering_link(ask.id, self._holder)}"
        self._page = await self._stage.reader.open(self._path)
        assert self._page.status == 200

    def buttons(self) -> list[ShownButton]:
        """Return the buttons, and what opens the reply."""
        attributes = [attrs for tag, attrs in self._page.tags if tag == "button"]
        classes = {attrs.get("value") or "": attrs.get("class") or "" for attrs in attributes}
        shown = [
            ShownButton(
                re.sub(r"\s*\d$" if value.startswith("answer:") else "^← ", "", text),
                value,
                answers=value.startswith("answer:"),
                denies="deny" in classes[value].split(),
            )
            for value, text in self._page.buttons.items()
            if value not in {"", "end_turn_now", "reply", "ask_back", "hand_over"}
        ]
        # As the agent gave them: what decides stands first on the page, and other ways behind "More".
        shown.sort(
            key=lambda each: (
                int(each.id.removeprefix("answer:")) if re.fullmatch(r"answer:\d+", each.id) else -1
            )
        )
        summaries = re.findall(r"<summary[^>]*reply-sheet[^>]*>([^<]*)<", self._page.markup)
        return [*shown, *(ShownButton(text, "", False, False) for text in summaries)]

    async def press_button(self, shown: ShownButton) -> None:
        await self._press(shown.id)

    def seen_at_once(self) -> str:
        closed = r"<details(?![^>]* open)[^>]*>(\s*<summary.*?</summary>).*?</details>"
        return Document(re.sub(closed, r"\1", self._page.markup, flags=re.DOTALL)).text

    async def read_all_text(self) -> str:
        return self._page.text

    async def private_notes(self, count: int) -> list[str]:
        """Return the pages that rejected a post."""
        return self._rejections

    def available_actions(self) -> set[str]:
        """Read the available actions from the buttons and from the choice "Something else…"."""
        offered = _OFFERS & self._page.buttons.keys()
        inputs = [attrs for tag, attrs in self._page.tags if tag == "input"]
        other = any((each.get("name"), each.get("value")) == ("choice", "other") for each in inputs)
        other = other or "answer:other" in self._page.buttons
        return offered | ({"other"} if other else set())

    async def read_prefill(self, question: Question) -> JsonValue:
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
                chosen = page.values("choice") or page.primary_choices()
                indexes = [int(each) for each in chosen if each != "other"]
                values: list[JsonValue] = [question.options[i].value for i in indexes]
                if question.answer_type is AnswerType.MULTI_SELECT:
                    return values or None
                return values[0] if values else None

    async def answer(self, question: Question, value: JsonValue) -> None:
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._press("yes" if value else "no")
            case AnswerType.SELECT | AnswerType.MULTI_SELECT:
                wanted = value if isinstance(value, list) else [value]
                indexes = [str(i) for i, o in enumerate(question.options) if o.value in wanted]
                if question.answer_type is AnswerType.SELECT:
                    indexes = indexes[:1]
                elif "other" in self._page.values("choice") and (
                    question.other_beside or not indexes
                ):
                    await self._choose([*indexes, "other"], self._page.value("other") or "")
                    return
                await self._choose(indexes)
            case AnswerType.TEXT:
                await self._press("answer", [("text", str(value))])
            case AnswerType.SCHEMA:
                if self._page.value("f0") is None:
                    await self._press("answer", [("json", json.dumps(value))])
                    return
                whole = value["n"] if isinstance(value, dict) else value
                await self._press("answer", [("f0", "" if whole is None else json.dumps(whole))])

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        self._chosen = (question, value)

    async def read_note_form(self) -> str:
        return self._page.text

    async def finish_note(self, note: str) -> None:
        self._page.fields = [*(f for f in self._page.fields if f[0] != "note"), ("note", note)]
        await self.answer(*self._chosen)

    async def answer_as_prefilled(self, question: Question) -> None:
        [chosen] = self._page.primary_choices() or [""]
        await self._press(f"answer:{chosen}" if chosen else "answer")

    async def list_tickable(self, *, allow: bool) -> dict[str, str]:
        """Return the rows with a tick box; those that do not show all can only be denied."""
        self._path = f"/inbox/{PageLinks(SECRET).inbox_name(self._holder)}"
        self._page = await self._stage.reader.open(self._path)
        items = re.findall(
            r'<li class="entry pickable[^"]*"[^>]*>(.*?)</li>', self._page.markup, flags=re.DOTALL
        )
        rows = {re.findall(r'value="(ask_[^"]*)"', each)[0]: Document(each).text for each in items}
        opened = Labels().batch_open
        self._ticks = {tick.partition(":")[0]: tick for tick in rows}
        shown = {tick.partition(":")[0]: text for tick, text in rows.items()}
        return {ask: text for ask, text in shown.items() if not (allow and opened in text)}

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str:
        """Tick boxes, and press the button below the list."""
        ticked = [("ask", self._ticks[each]) for each in ask_ids]
        do = "allow_once" if allow else "deny"
        return (await self._stage.reader.press(self._page, self._path, do, ticked)).text

    async def _choose(self, choices: list[str], other: str = "") -> None:
        pressed = f"answer:{choices[-1]}" if choices else ""
        if pressed and pressed in self._page.buttons:
            await self._press(pressed, [("other", other)])
            return
        self._page.fields = [pair for pair in self._page.fields if pair[0] != "choice"]
        await self._press("answer", [*(("choice", each) for each in choices), ("other", other)])

    async def answer_other(self, text: str) -> None:
        boxes = any(attrs.get("type") == "checkbox" for _, attrs in self._page.tags)
        selected = self._page.values("choice") if boxes else []
        await self._choose([*selected, "other"], text)

    async def go_back(self) -> None:
        await self._press_or_read("back")

    async def edit(self, ask: Ask, question: Question) -> None:
        await self._press(f"edit:{question_index(ask.form, question.id)}")

    async def submit(self) -> None:
        await self._press("submit")

    async def confirm(self) -> None:
        await self._press_or_read("confirm")

    async def _press_or_read(self, do: str) -> None:
        """Press a button or, if the page does not offer it to this person, read why."""
        if do in self._page.buttons:
            await self._press(do)
        else:
            self._rejections.append(self._page.text.lower())

    async def object_to(self, text: str | None) -> None:
        await self._press("object", [("reply", text or "")])

    async def reply(self, text: str | None) -> None:
        await self._press("reply", [("reply", text or "")])

    async def ask_back(self, text: str) -> None:
        await self._press("ask_back", [("ask_back", text)])

    async def hand_over(self, to: SimulatedPerson) -> str:
        return (await self._press("hand_over", [("hand_over", to.user_id)])).text

    async def end_turn(self) -> None:
        """Use its button, and confirm on the page that follows."""
        page = await self._press("end_turn")
        if page.status == 200:
            self._page, before = page, self._page
            await self._press("end_turn_now")
            self._page = before

    async def try_again(self, text: str | None = None) -> None:
        await self._press("try_again", [("text", text or "")])

    async def read_grant_form(self) -> str:
        return self._page.text

    async def allow_again(self, uses: int) -> None:
        await self._press("grant", [("f1", str(uses))])

    async def revoke(self) -> None:
        await self._press("revoke")

    async def _press(self, do: str, entered: list[tuple[str, str]] | None = None) -> Document:
        assert do in self._page.buttons, (do, self._page.buttons)
        page = await self._stage.reader.press(self._page, self._path, do, entered or [])
        if page.status != 200:
            refused = {422} if do in {"confirm", "back", "hand_over"} else set()
            assert page.status in {403, 409, 410} | refused
            self._rejections.append(page.text)
        return page

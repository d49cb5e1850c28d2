"""The Home tab's list and modal in which a simulated person decides about several permissions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from answerback_chat.control_codec import Verb
from tests.fakes.slack import home_tab
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visible_message import look
from tests.unit.adapters.slack.rig import LABELS

_BUTTONS = {True: LABELS.allow_several, False: LABELS.deny_several}


class SlackBatches:
    """See `answerback.testing.simulated_people.HasBatches`."""

    _slack: FakeSlack
    _person: Person

    async def list_tickable(self, *, allow: bool) -> dict[str, str]:
        """Open the Home tab and its modal; return the modal's rows."""
        person, homes = self._person, self._slack.workspace.homes
        await person.close_modal()
        homes.pop(person.id, None)
        self._slack.event_types |= {"app_home_opened"}
        home_tab.open_home(person)
        await self._slack.until(lambda: person.id in homes)
        if _BUTTONS[allow] not in look(homes[person.id]).buttons:
            return {}
        ack = await home_tab.press(person, _BUTTONS[allow])
        assert ack.ok, ack
        view = await person.sees_modal()
        rows: dict[str, str] = {}
        text = ""
        for block in view.body["blocks"]:
            text += "\n".join(_texts(block))
            if block["type"] == "input":
                rows[block["block_id"].partition(":")[0]] = text
                text = ""
        return rows

    async def decide_ticked(self, ask_ids: Sequence[str], *, allow: bool) -> str:
        """Tick boxes in the modal, and submit it."""
        view = await self._person.sees_modal()
        for box in look(view).controls:
            if box.block_id.partition(":")[0] in ask_ids:
                assert box.action_id == (Verb.ALLOW_SEVERAL if allow else Verb.DENY_SEVERAL)
                chosen = {"type": "checkboxes", "selected_options": [box.choices[0].option]}
                await self._person._enter(view, box, chosen)
        ack = await self._person.submit()
        assert ack.ok, ack
        return look(self._person.modal).visible_text if self._person.modal else ""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)

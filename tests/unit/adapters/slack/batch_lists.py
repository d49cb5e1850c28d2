"""The Home tab's list and modal in which a simulated person decides about several permissions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from answerback.core.ask import Ask
from answerback.ports.store_values import Page
from answerback_chat.control_codec import Verb
from answerback_slack import inbox_view
from tests.fakes.slack import home_tab
from tests.fakes.slack.checks import check_view
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visible_message import look
from tests.unit.adapters.batch_platforms import ListedOn, Town
from tests.unit.adapters.slack.rig import LABELS

_BUTTONS = {True: LABELS.allow_several, False: LABELS.deny_several}


class SlackBatches:
    """See `answerback_testing.simulated_people.HasBatches`."""

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


class SlackPerson(SlackBatches):
    """A person at Slack."""

    def __init__(self, slack: FakeSlack) -> None:
        self._slack, self._person = slack, slack.person("U0ADA", "ada")


@asynccontextmanager
async def run_town(port: int) -> AsyncIterator[Town]:
    """Run the platform, with a person, for a service at a port."""
    async with FakeSlack() as slack:
        person = SlackPerson(slack)
        slack.workspace.add_channel("C0OPS", "U0ADA")
        slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "ANSWERBACK_SLACK__API_URL": slack.api_url,
        }
        yield Town(environment, "slack:C0OPS", "U0ADA", person)


def _check(asks: list[Ask], allow: bool) -> str:
    if allow:  # the Home tab is the same for both
        assert check_view(inbox_view.build_home_view(Page(tuple(asks), "x" * 30), (), LABELS)) == []
    verb = Verb.ALLOW_SEVERAL if allow else Verb.DENY_SEVERAL
    modal = inbox_view.batch_modal(asks, verb, LABELS)
    assert modal is None or check_view(modal) == []
    return json.dumps(modal, ensure_ascii=False)


LISTED = ListedOn(inbox_view.PAGE_SIZE, inbox_view.BATCH.of, _check)

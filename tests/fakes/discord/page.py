"""A page that shows channels and threads roughly as Discord does, for people, browsers in tests, and pictures.

`/` lists channels; `/channels/{id}?as={user}` shows one as that person sees it, with buttons, selects and modals that
work. Every post goes through the same simulated person as in tests. Markup is made in looks.py.
"""

from aiohttp import web
from yarl import URL

from tests.fakes.discord.core import Discord
from tests.fakes.discord.interactions import Interactions
from tests.fakes.discord.page_html import document, index_html, message_html, modal_html
from tests.fakes.discord.person import Person
from tests.fakes.discord.problems import RefusalError
from tests.fakes.discord.rules import CHECKBOX, CHECKBOXES, walk
from tests.fakes.discord.visible_message import Control, NotPossibleError
from tests.fakes.discord.world import Channel


class Page:
    """The handlers, over one fake."""

    def __init__(self, discord: Discord, interactions: Interactions) -> None:
        self._discord, self._interactions = discord, interactions
        self._people: dict[int, Person] = {}

    def routes(self) -> list[web.RouteDef]:
        """Return the routes that the server mounts at its root."""
        return [
            web.get("/", self.index),
            web.get("/channels/{channel}", self.show),
            web.post("/channels/{channel}/act", self.act),
            web.post("/channels/{channel}/modal", self.modal),
            web.post("/channels/{channel}/type", self.type),
        ]

    async def index(self, request: web.Request) -> web.Response:
        """All channels and threads."""
        return _html(index_html(self._discord.world))

    def _channel(self, request: web.Request) -> Channel:
        try:
            return self._discord.world.channel(int(request.match_info["channel"]))
        except (RefusalError, ValueError):
            raise web.HTTPNotFound from None

    def _person(self, user_id: str) -> Person | None:
        user = self._discord.world.users.get(int(user_id)) if user_id.isdecimal() else None
        if user is None:
            return None
        return self._people.setdefault(user.id, Person(self._discord, self._interactions, user))

    async def show(self, request: web.Request) -> web.Response:
        """One channel as a person sees it; without `as`, what everybody sees."""
        channel, person = self._channel(request), self._person(request.query.get("as", ""))
        who = person.id if person else None
        messages = [
            each
            for each in sorted(channel.messages.values(), key=lambda each: each.id)
            if not each.deleted and each.only_for in {None, who}
        ]
        body = "".join(message_html(self._discord.world, each, channel, who) for each in messages)
        modal = modal_html(person.modal, channel, person.id) if person and person.modal else ""
        return _html(document(channel, body, modal, who, request.query.get("notice", "")))

    async def act(self, request: web.Request) -> web.Response:
        """A click or a choice made on the page."""
        channel, form = self._channel(request), await request.post()
        person = self._person(str(form["as"]))
        message = channel.messages.get(int(str(form["message"])))
        if person is None or message is None:
            raise web.HTTPNotFound
        notice = ""
        found = [c for _, c in walk(message.components) if c.get("custom_id") == form["custom_id"]]
        if not found:
            return self._back(channel, person, "This interaction failed")
        control = Control(found[0])
        try:
            if control.is_select:
                chosen = set(map(str, form.getall("value", [])))
                labels = [each.label for each in control.options if each.value in chosen]
                made = await person.choose(control.custom_id, labels, on=message)
            else:
                made = await person.click(control.label, on=message)
            notice = "" if made.answered else "This interaction failed"
        except NotPossibleError as error:
            notice = str(error)
        return self._back(channel, person, notice)

    async def modal(self, request: web.Request) -> web.Response:
        """The open modal sent or closed."""
        channel, form = self._channel(request), await request.post()
        person = self._person(str(form["as"]))
        if person is None or person.modal is None:
            raise web.HTTPNotFound
        if "dismiss" in form:
            person.dismiss()
            return self._back(channel, person, "")
        for number, field in enumerate(person.modal.fields):
            given = [str(each) for each in form.getall(f"field{number}", [])]
            if field.component["type"] == CHECKBOX:
                field.value = bool(given)
            elif field.component["type"] == CHECKBOXES or field.component["type"] in {
                3,
                5,
                6,
                7,
                8,
            }:
                field.value = [each for each in given if each]
            else:
                field.value = (given[0].replace("\r\n", "\n") if given else None) or (
                    "" if field.component["type"] == 4 else None
                )
        try:
            made = await person.submit()
            notice = "" if made.answered else "Something went wrong. Try again."
        except NotPossibleError as error:
            notice = str(error)
        return self._back(channel, person, notice)

    async def type(self, request: web.Request) -> web.Response:
        """A message written on the page, or a command."""
        channel, form = self._channel(request), await request.post()
        person = self._person(str(form["as"]))
        if person is None:
            raise web.HTTPNotFound
        text = str(form["text"])
        if not text.startswith("/"):
            person.types(channel, text)
            return self._back(channel, person, "")
        try:
            made = await person.command(text[1:].strip(), channel)
            notice = "" if made.answered else "The application did not respond"
        except NotPossibleError as error:
            notice = str(error)
        return self._back(channel, person, notice)

    def _back(self, channel: Channel, person: Person, notice: str) -> web.Response:
        here = f"/channels/{channel.id}"
        query = {"as": str(person.id), **({"notice": notice} if notice else {})}
        return web.Response(status=303, headers={"Location": str(URL(here).with_query(query))})


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})

"""Show a person the asks that wait for them, from all agents: in the chat between them and the bot."""

from __future__ import annotations

from answerback.core.errors import DestinationGoneError, StoreError
from answerback.core.labels import Labels
from answerback.ports.surface import Actor, Asks
from answerback.presentation import wording
from answerback_telegram import inbox_view
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import INBOX, SURFACE, Click, Place, TypedMessage
from answerback_telegram.render import compose


class Inbox:
    """Sends inboxes.

    Args:
        asks: the service.
    """

    def __init__(self, asks: Asks, helpers: HelperMessages, labels: Labels) -> None:
        self._asks = asks
        self._helpers = helpers
        self._labels = labels
        self.bot_name = ""

    async def send(self, typed: TypedMessage) -> None:
        """Answer the command, where only this person sees it; tell those who cannot be written to how to change it."""
        direct = Place(typed.actor.person.user_id)
        try:
            await self._helpers.send(direct, await self._page(typed.actor, None))
        except DestinationGoneError:
            start = f"https://t.me/{self.bot_name}?start={INBOX}"
            await self._helpers.send(typed.place, compose([escape(start)], []), typed.id)

    async def turn_page(self, click: Click) -> None:
        """Show another page in the same message."""
        page = await self._page(click.actor, click.control.argument or None)
        await self._helpers.edit(click.message, page)

    async def _page(self, actor: Actor, after: str | None) -> Json:
        try:
            try:
                asks = await self._asks.list_waiting_for(actor, after, inbox_view.ASKS_PER_PAGE)
            except ValueError:  # the cursor is not from an inbox of this database
                asks = await self._asks.list_waiting_for(actor, None, inbox_view.ASKS_PER_PAGE)
            others = (
                await self._asks.list_open_to_anyone(SURFACE, wording.MAX_OPEN_TO_ANYONE)
                if inbox_view.is_empty(asks)
                else ()
            )
        except StoreError:
            return compose([escape(self._labels.unavailable)], [])
        return inbox_view.page(asks, self._labels, others)

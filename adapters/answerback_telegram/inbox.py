"""Show a person the asks that wait for them, from all agents: in the chat between them and the bot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Actor, Asks
from answerback_chat.inbox_reader import read_inbox
from answerback_chat.ticked_inbox import FIRST_PAGE, ShownPage, TickedInbox
from answerback_chat.typed_entries import Effect
from answerback_telegram import inbox_view
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import SURFACE, Click, Place, TypedMessage
from answerback_telegram.private_notes import chat_of
from answerback_telegram.render import compose
from answerback_telegram.responder_names import ResponderNames


@dataclass(eq=False)
class Inbox:
    """Sends inboxes, and shows what is ticked in them.

    Args:
        fence: returns the lease under which this process receives clicks, if any.
    """

    asks: Asks
    helpers: HelperMessages
    names: ResponderNames
    labels: Labels
    fence: Callable[[], Fence | None]

    def __post_init__(self) -> None:
        whole = inbox_view.BATCH.shows_whole
        self._ticks = TickedInbox(SURFACE, self.asks, self.labels, whole, self.fence)

    async def send(self, typed: TypedMessage) -> None:
        """Answer the command, where only this person sees it, and show again what was deleted there."""
        page = await self._page(typed.actor, FIRST_PAGE, restore=True)
        await self.helpers.send_privately(typed.actor.person.user_id, page, typed.place, typed.id)

    async def handle_click(self, click: Click) -> Effect:
        shown, note = await self._ticks.use(click)

        async def show() -> None:
            page = await self._page(click.actor, shown, note)
            await self.helpers.edit(click.message, page)

        return show

    async def _page(
        self, actor: Actor, shown: ShownPage, note: str = "", *, restore: bool = False
    ) -> Json:
        size = inbox_view.ASKS_PER_PAGE
        try:
            asks, others = await read_inbox(self.asks, SURFACE, actor, shown.after, size)
            if restore:
                await self._restore(asks.rows)
        except StoreError:
            return compose([escape(self.labels.unavailable)], [])
        chats = [chat_of(each.placement.destination) for each in others]
        names = await self.names.look_up(chats, Place(actor.person.user_id))
        return inbox_view.page(asks, self.labels, others, shown.ticked, note, names)

    async def _restore(self, listed: Sequence[Ask]) -> None:
        """Edit the messages of these asks, which finds those that were deleted: Telegram tells no bot of that."""
        for ask in listed:
            if ask.placement.destination.surface == SURFACE:
                await self.asks.show_again(ask.id, deleted=True)

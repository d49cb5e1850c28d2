"""Accounts that people link to their pages without the operator: both sides have to confirm it, in words.

Whoever has a page starts it there and gets a code. The owner of an account in a chat types the code there, and
confirms; then the page's owner reads which account that was, and confirms. What is started is a draft in the store, so
any process can continue it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from pydantic import JsonValue

from answerback.core.ask import RecordEntry
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.people import AccountLink, People, account_id
from answerback.core.person import AuthMethod, Person
from answerback.ports.clock import Clock
from answerback.ports.commands import Command, CommandAnswer, CommandButton, CommandUse
from answerback.ports.person_key import is_operator
from answerback.ports.store import Store
from answerback_base.visible_text import one_line
from answerback_teams.stored_links import StoredLinks
from answerback_teams.typed_codes import CodeGuesses, GuessLimit, WrongCode, new_code, read_code
from answerback_teams.values import StartedLink

logger = logging.getLogger(__name__)

_GUESSES: Final = GuessLimit("link", 5, 3_600.0)
_REFRESH_SECONDS: Final = 2.0
"""Seconds that other processes may take to notice a change."""
_YES, _NO = "yes", "no"


def link_command(labels: Labels) -> Command:
    """Return the command as it is listed."""
    return Command("link", labels.link_command, "code")


class AccountLinks:
    """Starts, confirms, lists and removes links, and keeps the directory of people up to date.

    Args:
        credentials: returns the hashes of the keys of personal links, by the names of their owners.
        signed_in_by: what tells who a proxy has signed in; None if no proxy signs people in.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        people: People,
        labels: Labels,
        credentials: Callable[[], Awaitable[dict[str, str]]],
        signed_in_by: str | None,
    ) -> None:
        self._store, self._clock, self._people, self._labels = store, clock, people, labels
        self._links = StoredLinks(store.rows)
        self._credentials, self._signed_in_by = credentials, signed_in_by
        self._guesses = CodeGuesses(store.drafts, clock, _GUESSES)
        # A lock exists for as long as something holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.command = link_command(labels)._replace(answer=self._answer)

    # --- the page's side ---------------------------------------------------------------------------

    async def start(self, page: Person) -> StartedLink | None:
        """Start a link in place of the last one; None unless a personal link or a proxy says whose page it is."""
        if is_operator(page) or page.known not in {AuthMethod.LINK, AuthMethod.PROXY}:
            return None
        code = new_code()
        started = StartedLink(code, self._clock.now())
        await self._save(_code_key(code), _person_json(page))
        await self._keep(page, started)  # last: a code that the page shows can be typed
        logger.info("A person starts to link an account", extra=_extra("link_started", page))
        return started

    async def started(self, page: Person) -> StartedLink | None:
        """Return the link that a person has started, if there is still time."""
        match await self._store.drafts.get(_page_key(page)):
            case [str(code), int() | float() as at, typed_by, bool(agreed)]:
                found = StartedLink(code, at, _read_person(typed_by), agreed)
                return found if found.is_valid(self._clock.now()) else None
            case _:
                return None

    async def confirm(self, page: Person, account: str, *, mine: bool) -> bool:
        """Link the account that has confirmed the person's code, or refuse it; False if no such account has."""
        async with self._lock(page):
            started = await self.started(page)
            by = started.typed_by if started is not None and started.agreed else None
            if by is None or account_id(by) != account:
                return False
            await self._save(_page_key(page), None)  # either way: a code can be used once
            if not mine:
                logger.warning(
                    "A code was typed by another person", extra=_extra("link_refused", page, by)
                )
                return True
            return await self._link(page, by)

    async def _link(self, page: Person, by: Person) -> bool:
        credential = ""
        if page.known is AuthMethod.LINK:
            credential = (await self._credentials()).get(page.user_id, "-")
        await self.refresh()
        if self._people.name_of(by) is not None:
            return False
        stored = await self._links.list()
        old = next((each for each in stored if each.id == account_id(by)), None)
        # Another process, or another page in this one, may have linked it since.
        if old is not None and old.ended_at is None and (await self._validity())(old):
            await self.refresh()
            return False
        new = AccountLink(account=by, page=page, credential=credential, at=self._clock.now())
        saved = await self._links.save(new.renewed(old))
        if saved:
            await self._record("account_linked", page, by, page)
        await self.refresh()
        return saved

    async def list_of(self, page: Person | None) -> Sequence[AccountLink]:
        """The linked accounts; with a person, only theirs."""
        found = await self._links.list()
        live = [each for each in found if each.ended_at is None]
        return [each for each in live if page is None or self._people.is_same(each.page, page)]

    async def remove(self, account: str, by: Person, page: Person | None) -> bool:
        """Remove a link; with ``page``, only if it is that person's. False if there is none such."""
        for link in await self.list_of(page):
            if link.id == account:
                removed = await self._links.save(link.ended(self._clock.now(), by))
                if removed:
                    await self._record("account_unlinked", link.page, link.account, by)
                await self.refresh()
                return removed
        return False

    async def _record(self, action: str, page: Person, account: Person, by: Person) -> None:
        body: dict[str, JsonValue] = {
            "action": action,
            "page": account_id(page),
            "account": account_id(account),
        }
        logger.info("A link of an account has changed", extra=_extra(action, page, account))
        entry = RecordEntry(at=self._clock.now(), kind="note", by=by, body=body)
        await self._store.record.add(None, entry)

    # --- the account's side ------------------------------------------------------------------------

    async def _answer(self, use: CommandUse) -> CommandAnswer:
        """Answer a code that was typed, or the button that confirms or cancels it."""
        typed, _, choice = use.text.partition(" ")
        code = read_code(typed)
        page = await self._guesses.look_up(account_id(use.person), lambda: self._page_of(code))
        match page:
            case WrongCode.TOO_MANY:
                return CommandAnswer(self._labels.link_too_many)
            case WrongCode.UNKNOWN:
                return CommandAnswer(self._labels.link_bad_code)
            case Person():
                async with self._lock(page):
                    return await self._go_on(use, page, code, choice if use.pressed else "")

    async def _page_of(self, code: str) -> Person | None:
        return _read_person(await self._store.drafts.get(_code_key(code)))

    async def _go_on(self, use: CommandUse, page: Person, code: str, choice: str) -> CommandAnswer:
        labels, started = self._labels, await self.started(page)
        is_theirs = started is not None and (
            started.typed_by is None or account_id(started.typed_by) == account_id(use.person)
        )
        if started is None or started.code != code or not is_theirs:
            return CommandAnswer(labels.link_bad_code)
        await self.refresh()
        if self._people.name_of(use.person) is not None:
            return CommandAnswer(labels.link_taken)
        name = one_line(page.name or page.user_id)
        if choice == _NO:
            await self._save(_page_key(page), None)
            logger.warning("A code was cancelled", extra=_extra("link_cancelled", page, use.person))
            return CommandAnswer(labels.link_cancelled)
        agreed = started.agreed or choice == _YES
        await self._keep(page, started._replace(typed_by=use.person, agreed=agreed))
        if agreed:
            return CommandAnswer(labels.link_agreed)
        way = labels.link_by_link if page.known is AuthMethod.LINK else labels.link_by_proxy
        text = f"{way.format(name=name)}\n{labels.link_ask_account.format(name=name)}"
        buttons = (
            CommandButton(labels.link_both.format(name=name), f"link {code} {_YES}"),
            CommandButton(labels.cancel, f"link {code} {_NO}"),
        )
        return CommandAnswer(text, buttons)

    # --- the directory -----------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Bring the directory of people up to date."""
        links = await self._links.list()
        self._people.update_links(links, await self._validity())

    async def _validity(self) -> Callable[[AccountLink], bool]:
        """Return what tells whether the page of a link still has the credential that it was linked with."""
        keys = await self._credentials()

        def is_valid(link: AccountLink) -> bool:
            if link.page.known is AuthMethod.PROXY:
                return self._signed_in_by is not None
            return keys.get(link.page.user_id) == link.credential

        return is_valid

    async def run(self) -> None:
        """Keep the directory of people up to date with what other processes change."""
        failing = False
        while True:
            try:
                await self.refresh()
            except StoreError as error:
                if not failing:  # said once: the next tries are seconds apart
                    extra = {"action": "links_unread"}
                    logger.warning("The linked accounts cannot be read: %s", error, extra=extra)
                failing = True
            else:
                failing = False
            await asyncio.sleep(_REFRESH_SECONDS)

    # --- drafts ------------------------------------------------------------------------------------

    def _lock(self, person: Person) -> asyncio.Lock:
        return self._locks.setdefault(account_id(person), asyncio.Lock())

    async def _keep(self, page: Person, started: StartedLink) -> None:
        typed_by = None if started.typed_by is None else _person_json(started.typed_by)
        value: JsonValue = [started.code, started.at, typed_by, started.agreed]
        await self._save(_page_key(page), value)

    async def _save(self, key: str, value: JsonValue) -> None:
        await self._store.drafts.save(key, value, self._clock.now())


def _code_key(code: str) -> str:
    return f"link code {hashlib.sha256(code.encode()).hexdigest()}"


def _page_key(page: Person) -> str:
    return f"link of {account_id(page)}"


def _person_json(person: Person) -> JsonValue:
    return [person.surface, person.user_id, person.name, person.known]


def _read_person(value: JsonValue) -> Person | None:
    match value:
        case [str(surface), str(user_id), None | str() as name, None | str() as known]:
            method = None if known is None else AuthMethod(known)
            return Person(surface=surface, user_id=user_id, name=name, known=method)
        case _:
            return None


def _extra(action: str, page: Person | None, account: Person | None = None) -> dict[str, object]:
    return {
        "action": action,
        "page": page and account_id(page),
        "account": account and account_id(account),
    }

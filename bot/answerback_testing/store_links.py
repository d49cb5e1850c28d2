"""The contract of stores: accounts that people have linked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from answerback.core.people import AccountLink
from answerback.core.person import AuthMethod, Person
from answerback.ports.store import Store

ANN = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK)
BOB = Person(surface="web", user_id="bob@example.com", known=AuthMethod.PROXY)


def new_link(user_id: str = "U012", page: Person = ANN, at: float = 1.0) -> AccountLink:
    """Return a new link of an account in Slack."""
    account = Person(surface="slack", user_id=user_id, name="ann.a")
    return AccountLink(account=account, page=page, credential="sha256:1", at=at)


class LinksContract:
    """Linked accounts."""

    @pytest.mark.rule("LINK-8")
    async def test_links_are_kept_whole_by_account_over_a_restart(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        second, first = new_link("U2"), new_link("U1\u00e9", BOB)
        assert await store.links.save(second)
        assert await store.links.save(first)
        ended = second.ended(2.0, ANN)
        assert await store.links.save(ended)
        again = new_link("U2", BOB, 3.0).renewed(ended)
        assert await store.links.save(again)
        await store.close()
        reopened = make_store()
        await reopened.open()
        assert list(await reopened.links.list()) == [first, again]
        assert again.former == ("web:ann",)
        await reopened.close()
        await store.open()

    @pytest.mark.rule("LINK-8")
    async def test_of_two_changes_of_one_account_only_one_is_stored(self, store: Store) -> None:
        rivals = [new_link(page=page, at=at) for page, at in ((ANN, 1.0), (BOB, 2.0))]
        saved = await asyncio.gather(*map(store.links.save, rivals))
        assert sorted(saved) == [False, True]
        [stored] = await store.links.list()
        assert stored == rivals[saved.index(True)]
        changes = [stored.ended(at, BOB) for at in (3.0, 4.0)]
        saved = await asyncio.gather(*map(store.links.save, changes))
        assert sorted(saved) == [False, True]
        assert list(await store.links.list()) == [changes[saved.index(True)]]
        assert not await store.links.save(replace(stored, revision=7))
        assert not await store.links.save(replace(new_link("U9"), revision=2))

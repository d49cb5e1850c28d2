"""The contract of stores: sign-ins, the tokens that they end in, and accounts that people have linked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.people import AccountLink
from answerback.core.person import AuthMethod, Person
from answerback.ports.store import Store
from answerback_teams.stored_links import StoredLinks
from answerback_teams.stored_sign_ins import StoredSignIns
from answerback_teams.values import (
    EXPIRED_FOR,
    AgentToken,
    AskingProgram,
    Redeemed,
    SignIn,
    SignInState,
    WaitingRoom,
    account_of,
)

ANN = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.PROXY)
ANNS_PAGE = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK)
BOB = Person(surface="web", user_id="bob@example.com", known=AuthMethod.PROXY)
ROOM = WaitingRoom(99, 99, 99)
ANNS = (account_of(ANN), "slack:U1")


def new_sign_in(number: int = 1, **fields: Any) -> SignIn:
    """Return a sign-in that waits for a person."""
    values: dict[str, Any] = {
        "id": f"sign_in_{number}",
        "device_hash": f"device {number}",
        "user_hash": f"user {number}",
        "asked_by": AskingProgram("Claude Code", "laptop", "192.0.2.1"),
        "at": 1_000.0,
        "until": 1_600.0,
        "interval": 5.0,
    }
    return SignIn(**values | fields)


def new_token(number: int = 1, *, owner: Person = ANN, **fields: Any) -> AgentToken:
    """Return a token whose hash, name and times depend on this number alone."""
    values: dict[str, Any] = {
        "token_hash": f"sha256:{number}",
        "name": f"ann-{number}",
        "owner": owner,
        "credential": "c",
        "asked_by": AskingProgram("Claude Code", "laptop", "192.0.2.1", is_reported=True),
        "at": 1_000.0 + number,
        "until": 9_000.0 + number,
    }
    return AgentToken(**values | fields)


def new_link(user_id: str = "U012", page: Person = ANNS_PAGE, at: float = 1.0) -> AccountLink:
    """Return a new link of an account in Slack."""
    account = Person(surface="slack", user_id=user_id, name="ann.a")
    return AccountLink(account=account, page=page, credential="sha256:1", at=at)


def sign_ins_in(store: Store) -> StoredSignIns:
    """Return the sign-ins of a store."""
    return StoredSignIns(store.rows)


def links_in(store: Store) -> StoredLinks:
    """Return the linked accounts of a store."""
    return StoredLinks(store.rows)


async def approve(store: Store, number: int = 1, at: float = 1_000.0) -> SignIn:
    """Store a sign-in that a person has approved."""
    approved = new_sign_in(number, at=at, until=at + 600, state=SignInState.APPROVED, seen_by=ANN)
    assert await sign_ins_in(store).add_sign_in(approved, "a", ROOM)
    return approved


class TeamsContract:
    """Sign-ins, tokens and linked accounts."""

    @pytest.mark.rule("ONBOARD-4")
    async def test_a_sign_in_is_found_by_its_id_and_by_each_code_and_changes_only_as_it_was(
        self, store: Store
    ) -> None:
        waiting = new_sign_in(interval=5)
        assert await sign_ins_in(store).add_sign_in(waiting, "a", ROOM)
        for key in ("sign_in_1", "device 1", "user 1"):
            assert await sign_ins_in(store).find_sign_in(key) == waiting
        assert await sign_ins_in(store).find_sign_in("user 2") is None
        polled = replace(waiting, polled_at=1_005.5, interval=10.0)
        approved = replace(polled, state=SignInState.APPROVED, seen_by=ANN, credential="c")
        assert await sign_ins_in(store).replace_sign_in(waiting, polled)
        assert not await sign_ins_in(store).replace_sign_in(waiting, approved), "it has changed"
        assert await sign_ins_in(store).find_sign_in("user 1") == polled
        assert await sign_ins_in(store).replace_sign_in(polled, approved)
        assert await sign_ins_in(store).find_sign_in("device 1") == approved
        assert not await sign_ins_in(store).replace_sign_in(new_sign_in(2), polled)

    @pytest.mark.rule("ONBOARD-6")
    async def test_only_so_many_sign_ins_wait_in_all_and_from_one_source(
        self, store: Store
    ) -> None:
        add, room = sign_ins_in(store).add_sign_in, WaitingRoom(3, 2, 9)
        assert await add(new_sign_in(1), "a", room)
        assert await add(new_sign_in(2), "a", room)
        assert not await add(new_sign_in(3), "a", room), "two from this source"
        assert await add(new_sign_in(3), "b", room)
        assert not await add(new_sign_in(4), "c", room), "three in all"
        later = new_sign_in(4, at=1_600.0, until=2_200.0)
        assert await add(later, "a", WaitingRoom(1, 1, 1)), "those that have expired wait no longer"
        assert await sign_ins_in(store).find_sign_in("user 1") is not None, "it learns why"
        assert await add(new_sign_in(5, at=1_600.5 + EXPIRED_FOR, until=9_000.0), "a", ROOM)
        assert await sign_ins_in(store).find_sign_in("user 1") is None
        assert await sign_ins_in(store).find_sign_in("user 4") == later

    @pytest.mark.rule("ONBOARD-6")
    async def test_five_sources_that_begin_all_they_may_leave_room_for_others(
        self, store: Store
    ) -> None:
        add, room = sign_ins_in(store).add_sign_in, WaitingRoom(10, 4, 1)
        for n in range(20):
            await add(new_sign_in(n), f"source {n % 5}", room)
        assert await add(new_sign_in(20), "somebody else", room)
        assert not await add(new_sign_in(21), "source 0", room)
        assert not await add(new_sign_in(21), "somebody else", room), "it has as many as is few"

    @pytest.mark.rule("ONBOARD-5")
    async def test_a_sign_in_is_exchanged_once_even_by_two_processes(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        approved, other = await approve(store), make_store()
        await other.open()
        try:
            results = await asyncio.gather(
                sign_ins_in(store).redeem(approved, new_token(1), ANNS, 9),
                sign_ins_in(other).redeem(approved, new_token(2), ANNS, 9),
            )
            assert sorted(results) == [Redeemed.GONE, Redeemed.ISSUED]
            (issued,) = await sign_ins_in(store).list_tokens()
            assert await sign_ins_in(other).find_token(issued.token_hash) == issued
            assert await sign_ins_in(store).find_sign_in(approved.id) is None
            assert await sign_ins_in(other).remove_token(issued.name)
            assert await sign_ins_in(store).find_token(issued.token_hash) is None
        finally:
            await other.close()

    @pytest.mark.rule("ONBOARD-7")
    async def test_a_person_has_only_so_many_tokens_by_all_accounts_even_at_once(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        tokens = sign_ins_in(store)
        in_chat = Person(surface="slack", user_id="U1")
        assert await tokens.redeem(await approve(store, 1), new_token(1), ANNS, 2) == "issued"
        expired = new_token(2, owner=in_chat, until=1_002.5)
        assert await tokens.redeem(await approve(store, 2), expired, ANNS, 2) == "issued"
        kim = new_token(3, owner=Person(surface="web", user_id="kim"))
        assert await tokens.redeem(await approve(store, 3), kim, ["web:kim"], 1) == "issued"
        fourth, fifth, other = await approve(store, 4), await approve(store, 5), make_store()
        await other.open()
        try:
            results = await asyncio.gather(
                tokens.redeem(fourth, new_token(4, owner=in_chat), ANNS, 2),
                sign_ins_in(other).redeem(fifth, new_token(5), ANNS, 2),
            )
        finally:
            await other.close()
        assert sorted(results) == [Redeemed.FULL, Redeemed.ISSUED]
        assert (
            len([each for each in await tokens.list_tokens() if each.owner.user_id != "kim"]) == 3
        )
        left = [await tokens.find_sign_in(each.id) for each in (fourth, fifth)]
        assert left.count(None) == 1, "who gets no token is left to be told so"

    @pytest.mark.rule("ONBOARD-8")
    async def test_tokens_are_listed_oldest_first_found_by_hash_and_removed_by_name(
        self, store: Store
    ) -> None:
        tokens = sign_ins_in(store)
        issued = [new_token(2), new_token(1)]
        for number, token in enumerate(issued):
            assert await tokens.redeem(await approve(store, number), token, ANNS, 9) == "issued"
        assert list(await tokens.list_tokens()) == [new_token(1), new_token(2)]
        assert await tokens.find_token("sha256:2") == new_token(2)
        assert await tokens.remove_token("ann-2")
        assert not await tokens.remove_token("ann-2")
        assert await tokens.find_token("sha256:2") is None
        assert list(await tokens.list_tokens()) == [new_token(1)]

    @pytest.mark.rule("ONBOARD-9")
    async def test_a_clock_that_is_set_back_ends_sign_ins_and_prolongs_no_token(
        self, store: Store
    ) -> None:
        tokens = sign_ins_in(store)
        await tokens.redeem(await approve(store, 1), new_token(1), ANNS, 9)
        approved = await approve(store, 2)
        await store.maintenance.shift_schedule(500.0, 600.0)
        assert await tokens.find_sign_in(approved.id) is None
        assert list(await tokens.list_tokens()) == [new_token(1, until=8_501.0)]

    @pytest.mark.rule("ONBOARD-9")
    async def test_what_is_over_is_forgotten(self, store: Store) -> None:
        tokens = sign_ins_in(store)
        await tokens.redeem(await approve(store, 1), new_token(1, until=2_000.0), ANNS, 9)
        await tokens.redeem(await approve(store, 2), new_token(2, until=3_000.0), ANNS, 9)
        for number, at in ((4, 2_900.0), (3, 1_000.0)):
            await approve(store, number, at)
        assert await store.maintenance.prune(2_500.0) == 2
        assert [each.name for each in await tokens.list_tokens()] == ["ann-2"]
        assert await tokens.find_sign_in("user 3") is None
        assert await tokens.find_sign_in("user 4") is not None

    @pytest.mark.rule("LINK-8")
    async def test_links_are_kept_whole_by_account_over_a_restart(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        second, first = new_link("U2"), new_link("U1\u00e9", BOB)
        assert await links_in(store).save(second)
        assert await links_in(store).save(first)
        ended = second.ended(2.0, ANNS_PAGE)
        assert await links_in(store).save(ended)
        again = new_link("U2", BOB, 3.0).renewed(ended)
        assert await links_in(store).save(again)
        await store.close()
        reopened = make_store()
        await reopened.open()
        assert list(await links_in(reopened).list()) == [first, again]
        assert again.former == ("web:ann",)
        await reopened.close()
        await store.open()

    @pytest.mark.rule("LINK-8")
    async def test_of_two_changes_of_one_account_only_one_is_stored(self, store: Store) -> None:
        rivals = [new_link(page=page, at=at) for page, at in ((ANNS_PAGE, 1.0), (BOB, 2.0))]
        saved = await asyncio.gather(*map(links_in(store).save, rivals))
        assert sorted(saved) == [False, True]
        [stored] = await links_in(store).list()
        assert stored == rivals[saved.index(True)]
        changes = [stored.ended(at, BOB) for at in (3.0, 4.0)]
        saved = await asyncio.gather(*map(links_in(store).save, changes))
        assert sorted(saved) == [False, True]
        assert list(await links_in(store).list()) == [changes[saved.index(True)]]
        assert not await links_in(store).save(replace(stored, revision=7))
        assert not await links_in(store).save(replace(new_link("U9"), revision=2))

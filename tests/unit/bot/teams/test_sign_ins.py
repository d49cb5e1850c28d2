"""Agents that people connect themselves: who may approve what, once, for how long, and what ends it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from answerback.core.errors import PlatformUnavailableError
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.ports.extension import KnownAgent
from answerback.ports.person_key import operator
from answerback_teams import sign_ins as module
from answerback_teams.sign_ins import (
    CODE_SECONDS,
    WRONG_CODES,
    Issued,
    PollError,
)
from answerback_teams.stored_sign_ins import StoredSignIns
from answerback_teams.values import NO_ONBOARDING, SignIn, SignInRefusal, SignInState
from tests.unit.bot.conftest import Parts
from tests.unit.bot.sign_in_support import ANN, BOB, CLAUDE, CY, LIMITS, RULES, Rig


@pytest.fixture
def rig(parts: Parts) -> Rig:
    return Rig(parts)


@pytest.mark.rule("ONBOARD-4")
async def test_a_person_approves_by_the_code_and_the_program_gets_a_token_once(rig: Rig) -> None:
    codes = await rig.begin()
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING
    typed = f" {codes.user.lower().replace('-', '')} "
    shown = await rig.sign_ins.look_up(typed, ANN)
    assert isinstance(shown, SignIn)
    assert (shown.asked_by, shown.state) == (CLAUDE, SignInState.PENDING)
    await rig.clock.advance(5)
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING
    decided = await rig.sign_ins.decide(shown.id, ANN, approve=True)
    assert isinstance(decided, SignIn)
    assert await rig.sign_ins.decide(shown.id, ANN, approve=False) == decided, "pressed twice"
    await rig.clock.advance(5)
    issued = await rig.sign_ins.poll(codes.device)
    assert isinstance(issued, Issued)
    assert await rig.sign_ins.poll(codes.device) is PollError.INVALID_GRANT
    agent = await rig.sign_ins.find_agent(issued.token)
    assert agent == KnownAgent(
        name=issued.agent.name,
        routes=("team",),
        label="Claude Code (Ann)",
        owner="web:ann@example.com",
        limits=LIMITS,
    )
    assert re.fullmatch("claude-code-[bcdfghjklmnpqrstvwxz]{9}", agent.name), "it names nobody"
    assert rig.taken[0] != rig.taken[1] == agent.name, "the configuration had an agent of this name"
    assert issued.token not in repr(await StoredSignIns(rig.store.rows).list_tokens())


@pytest.mark.rule("ONBOARD-4")
async def test_codes_are_long_short_lived_and_without_look_alikes(rig: Rig) -> None:
    codes = await rig.begin()
    assert len(codes.device) >= 43
    stored = await StoredSignIns(rig.store.rows).find_sign_in(module._user_hash(codes.user))
    assert codes.user not in repr(stored)
    assert codes.device not in repr(stored)
    await rig.clock.advance(CODE_SECONDS)
    assert await rig.sign_ins.poll(codes.device) is PollError.EXPIRED_TOKEN
    assert await rig.sign_ins.look_up(codes.user, ANN) is SignInRefusal.UNKNOWN


@pytest.mark.rule("ONBOARD-4")
async def test_nobody_gets_a_token_with_the_code_that_people_see(rig: Rig) -> None:
    codes = await rig.approved()
    for guess in (codes.user, codes.user.replace("-", ""), "sign_in_1", ""):
        assert await rig.sign_ins.poll(guess) is PollError.INVALID_GRANT
    shown = await StoredSignIns(rig.store.rows).find_sign_in(module._user_hash(codes.user))
    assert shown is not None
    assert await rig.sign_ins.poll(shown.id) is PollError.INVALID_GRANT


@pytest.mark.rule("ONBOARD-4")
async def test_a_program_that_polls_too_fast_waits_longer_each_time(rig: Rig) -> None:
    codes = await rig.begin()
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING
    await rig.clock.advance(4)
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING, (
        "only a little early"
    )
    await rig.clock.advance(3)
    assert await rig.sign_ins.poll(codes.device) is PollError.SLOW_DOWN
    await rig.clock.advance(5)
    assert await rig.sign_ins.poll(codes.device) is PollError.SLOW_DOWN, "ten seconds now"
    await rig.clock.advance(15)
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING
    for _ in range(20):
        assert await rig.sign_ins.poll(codes.device) is PollError.SLOW_DOWN
    await rig.clock.advance(60)
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING, (
        "at most a minute"
    )


@pytest.mark.rule("ONBOARD-4")
async def test_a_denial_is_final(rig: Rig) -> None:
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)
    await rig.sign_ins.decide(shown.id, ANN, approve=False)
    assert await rig.sign_ins.poll(codes.device) is PollError.ACCESS_DENIED
    assert await rig.sign_ins.look_up(codes.user, ANN) is SignInRefusal.UNKNOWN
    assert await rig.sign_ins.poll(codes.device) is PollError.ACCESS_DENIED


@pytest.mark.rule("ONBOARD-5")
async def test_of_two_processes_one_exchanges_an_approved_code(rig: Rig) -> None:
    codes = await rig.approved(sign_ins=rig.another())
    results = await asyncio.gather(
        *(each.poll(codes.device) for each in (rig.sign_ins, rig.another()))
    )
    assert len([each for each in results if isinstance(each, Issued)]) == 1
    assert len(await rig.sign_ins.list_for(None)) == 1


@pytest.mark.rule("ONBOARD-3")
async def test_only_owners_are_shown_who_asks(rig: Rig) -> None:
    codes = await rig.begin()
    stranger = Person(surface="web", user_id="eve", known=AuthMethod.PROXY)
    elsewhere = Person(surface="chat", user_id="bob")
    for person, why in (
        (stranger, SignInRefusal.FORBIDDEN),
        (elsewhere, SignInRefusal.FORBIDDEN),
        (CY, SignInRefusal.FORBIDDEN),
        (operator("web"), SignInRefusal.OPERATOR),
    ):
        assert await rig.sign_ins.look_up(codes.user, person) is why
        assert await rig.sign_ins.decide(codes.user, person, approve=True) is why
    rig.chat.groups["U3"] = frozenset({"G1"})
    assert isinstance(await rig.sign_ins.look_up(codes.user, CY), SignIn)
    rig.rules.rules = replace(RULES, owners=("anyone",))
    assert isinstance(await rig.sign_ins.look_up(codes.user, stranger), SignIn)
    assert await rig.sign_ins.look_up(codes.user, operator("web")) is SignInRefusal.OPERATOR
    rig.rules.rules = NO_ONBOARDING
    assert await rig.sign_ins.look_up(codes.user, ANN) is SignInRefusal.FORBIDDEN


@pytest.mark.rule("ONBOARD-3")
@pytest.mark.parametrize(
    ("owners", "who"),
    [
        (("person:cy",), "cy"),
        (("chat:U3",), "cy"),
        (("U3",), "cy"),
        (("bob",), ""),
        (("pager:U3",), ""),
        (("person:bob",), "bob"),
    ],
)
async def test_owners_are_named_as_responders_are(
    parts: Parts, owners: tuple[str, ...], who: str
) -> None:
    people = People({"cy": ("chat:U3", "web:cy"), "bob": ("web:bob",)})
    rig = Rig(parts, replace(RULES, owners=owners, home="chat"), people)
    cy_on_web = Person(surface="web", user_id="cy", known=AuthMethod.PROXY)
    codes = await rig.begin()
    for person, name in ((CY, "cy"), (cy_on_web, "cy"), (BOB, "bob")):
        shown = await rig.sign_ins.look_up(codes.user, person)
        assert isinstance(shown, SignIn) == (name == who), (person, shown)


@pytest.mark.rule("ONBOARD-3")
async def test_a_platform_that_cannot_say_who_is_in_a_group_refuses_nobody_for_good(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.chat.groups["U3"] = frozenset({"G1"})
    issued = await rig.connected(CY)

    async def away(*_: object) -> frozenset[str]:
        raise PlatformUnavailableError("It is away.")

    codes = await rig.begin()
    with monkeypatch.context() as patch:
        patch.setattr(rig.chat, "groups_of", away)
        assert await rig.sign_ins.look_up(codes.user, CY) is SignInRefusal.UNSURE
        assert await rig.another().find_agent(issued.token) is not None
    assert isinstance(await rig.sign_ins.look_up(codes.user, CY), SignIn)


@pytest.mark.rule("ONBOARD-3")
async def test_what_is_approved_is_what_was_shown_to_the_same_person(rig: Rig) -> None:
    codes = await rig.begin()
    unseen = await rig.sign_ins.decide(codes.user, ANN, approve=True)
    assert isinstance(unseen, SignIn)
    assert unseen.state is SignInState.PENDING, "it was not shown to her yet"
    shown = await rig.sign_ins.look_up(codes.user, BOB)
    assert isinstance(shown, SignIn)
    hers = await rig.sign_ins.decide(codes.user, ANN, approve=True)
    assert isinstance(hers, SignIn)
    assert hers.state is SignInState.PENDING, "it was shown to Bob since"
    done = await rig.sign_ins.decide(codes.user, ANN, approve=True)
    assert isinstance(done, SignIn)
    assert (done.state, done.seen_by) == (SignInState.APPROVED, ANN)
    assert await rig.sign_ins.decide(shown.id, BOB, approve=False) is SignInRefusal.UNKNOWN


@pytest.mark.rule("ONBOARD-3")
async def test_a_decision_and_a_poll_at_once_lose_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)
    replace_sign_in, polls = StoredSignIns(rig.store.rows).replace_sign_in, 0

    async def polled_meanwhile(old: SignIn, new: SignIn) -> bool:
        nonlocal polls
        if new.state is SignInState.APPROVED and not polls:
            polls += 1
            await rig.sign_ins.poll(codes.device)
        return await replace_sign_in(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(StoredSignIns, "replace_sign_in", staticmethod(polled_meanwhile))
        decided = await rig.sign_ins.decide(shown.id, ANN, approve=True)
    assert isinstance(decided, SignIn)
    assert (decided.state, polls) == (SignInState.APPROVED, 1)
    assert decided.polled_at is not None
    codes = await rig.approved()

    async def changed_meanwhile(old: SignIn, new: SignIn) -> bool:
        await replace_sign_in(old, replace(old, polled_at=1.0))
        return await replace_sign_in(old, new)

    monkeypatch.setattr(StoredSignIns, "replace_sign_in", staticmethod(changed_meanwhile))
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING


@pytest.mark.rule("ONBOARD-3")
async def test_what_is_shown_to_another_person_during_a_decision_is_not_approved(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be their agent, approved by somebody else."""
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)
    replace_sign_in = StoredSignIns(rig.store.rows).replace_sign_in

    async def seen_meanwhile(old: SignIn, new: SignIn) -> bool:
        await replace_sign_in(old, replace(old, seen_by=BOB))
        return await replace_sign_in(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(StoredSignIns, "replace_sign_in", staticmethod(seen_meanwhile))
        assert await rig.sign_ins.decide(shown.id, ANN, approve=True) is SignInRefusal.UNKNOWN
    assert await rig.sign_ins.poll(codes.device) is PollError.AUTHORIZATION_PENDING


@pytest.mark.rule("ONBOARD-6")
async def test_guesses_are_limited_by_person_whatever_account_they_use(
    parts: Parts, caplog: pytest.LogCaptureFixture
) -> None:
    people = People({"cy": ("chat:U3", "web:cy")})
    rig = Rig(parts, replace(RULES, owners=("anyone",)), people)
    codes = await rig.begin()
    cy_on_web = Person(surface="web", user_id="cy", known=AuthMethod.PROXY)
    for number in range(WRONG_CODES):
        who = (CY, cy_on_web)[number % 2]
        assert await rig.sign_ins.look_up(f"BBBB-{number:04}", who) is SignInRefusal.UNKNOWN
    for who in (CY, cy_on_web):
        assert await rig.sign_ins.look_up(codes.user, who) is SignInRefusal.TOO_OFTEN
        assert await rig.sign_ins.decide(codes.user, who, approve=True) is SignInRefusal.TOO_OFTEN
    assert isinstance(await rig.sign_ins.look_up(codes.user, ANN), SignIn), "it limits nobody else"
    await rig.clock.advance(CODE_SECONDS)
    later = await rig.begin()
    assert isinstance(await rig.sign_ins.look_up(later.user, CY), SignIn)


@pytest.mark.rule("ONBOARD-6")
async def test_guesses_count_in_every_process_even_those_of_one_moment(rig: Rig) -> None:
    codes, guesses = await rig.begin(), range(WRONG_CODES)
    first, second = rig.sign_ins, rig.another()
    tried = [first.look_up(f"BBBB-{number:04}", ANN) for number in guesses]
    await asyncio.gather(*tried, *(first.look_up("CCCC-CCCC", ANN) for _ in guesses))
    for process in (first, second):
        assert await process.look_up(codes.user, ANN) is SignInRefusal.TOO_OFTEN
    assert isinstance(await second.look_up(codes.user, BOB), SignIn)
    found = await asyncio.gather(*(second.look_up(f"CCCC-{n}", BOB) for n in range(30)))
    assert found.count(SignInRefusal.UNKNOWN) == WRONG_CODES


@pytest.mark.rule("ONBOARD-6")
async def test_people_who_guess_leave_room_for_those_who_have_done_little(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ALL_WRONG_CODES", 12)
    sign_ins, codes = rig.another(), await rig.begin()
    for person, said in ((ANN, 8), (BOB, 2)):
        found = [await sign_ins.look_up("BBBB-BBBB", person) for _ in range(WRONG_CODES)]
        assert found.count(SignInRefusal.UNKNOWN) == said
    rig.chat.groups["U3"] = frozenset({"G1"})
    assert isinstance(await sign_ins.look_up(codes.user, CY), SignIn)
    assert await sign_ins.look_up(codes.user, BOB) is SignInRefusal.TOO_OFTEN


@pytest.mark.rule("ONBOARD-6")
async def test_so_many_programs_wait_and_no_more(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING_PER_ADDRESS", 1)
    assert await rig.sign_ins.begin(CLAUDE) is not None
    assert await rig.sign_ins.begin(CLAUDE) is None
    assert await rig.sign_ins.begin(replace(CLAUDE, address="192.0.2.2")) is not None
    assert await rig.sign_ins.begin(replace(CLAUDE, address="2001:db8::1")) is not None
    assert await rig.sign_ins.begin(replace(CLAUDE, address="2001:db8::2")) is None, "one network"


@pytest.mark.rule("ONBOARD-7")
async def test_a_person_has_only_so_many_agents(rig: Rig) -> None:
    first = await rig.connected()
    approved = [await rig.approved() for _ in range(2)]
    results = await asyncio.gather(*(rig.sign_ins.poll(each.device) for each in approved))
    assert PollError.ACCESS_DENIED in results
    assert len(await rig.sign_ins.list_for(ANN)) == 2
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)
    assert await rig.sign_ins.decide(shown.id, ANN, approve=True) is SignInRefusal.FULL
    assert await rig.sign_ins.remove(first.agent.name, ANN)
    again = await rig.sign_ins.decide(shown.id, ANN, approve=True)
    assert isinstance(again, SignIn)
    assert again.state is SignInState.APPROVED
    assert isinstance(await rig.sign_ins.poll(codes.device), Issued)


@pytest.mark.rule("ONBOARD-8")
async def test_people_see_and_remove_only_their_own_agents_and_the_operator_all(rig: Rig) -> None:
    anns, bobs = await rig.connected(ANN), await rig.connected(BOB)
    assert [each.name for each in await rig.sign_ins.list_for(ANN)] == [anns.agent.name]
    names = {anns.agent.name, bobs.agent.name}
    assert {each.name for each in await rig.sign_ins.list_for(None)} == names
    assert not await rig.sign_ins.remove(bobs.agent.name, ANN)
    assert await rig.sign_ins.find_agent(bobs.token) is not None
    assert await rig.sign_ins.remove(bobs.agent.name, None)
    assert await rig.another().find_agent(bobs.token) is None
    assert await rig.sign_ins.remove(anns.agent.name, ANN)
    assert not await rig.sign_ins.remove(anns.agent.name, ANN)


@pytest.mark.rule("ONBOARD-4")
async def test_of_two_decisions_at_once_one_counts(rig: Rig) -> None:
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)
    decided = await asyncio.gather(
        *(rig.sign_ins.decide(shown.id, ANN, approve=approve) for approve in (True, False))
    )
    assert [SignInRefusal.UNKNOWN in decided, len(set(map(type, decided)))] == [True, 2]


@pytest.mark.rule("ONBOARD-4")
async def test_a_sign_in_that_ends_while_it_is_decided_is_unknown(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = await rig.begin()
    shown = await rig.sign_ins.look_up(codes.user, ANN)
    assert isinstance(shown, SignIn)

    async def replace_too_late(_old: SignIn, _new: SignIn) -> bool:
        await rig.clock.advance(CODE_SECONDS)
        return False

    monkeypatch.setattr(StoredSignIns, "replace_sign_in", staticmethod(replace_too_late))
    assert await rig.sign_ins.decide(shown.id, ANN, approve=True) is SignInRefusal.UNKNOWN

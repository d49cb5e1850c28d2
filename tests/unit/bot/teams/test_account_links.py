"""Accounts that people link to their pages: both sides confirm, nothing is taken from anybody, and it counts late."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import pytest
from pydantic import JsonValue
from syrupy.assertion import SnapshotAssertion

from answerback.core import refusals
from answerback.core.actions import Answer, Confirm
from answerback.core.ask import Ask, Status
from answerback.core.confirmation import ConfirmationRule, Vote, confirm
from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.ports.commands import CommandAnswer, CommandUse
from answerback.ports.person_key import operator
from answerback.ports.surface import Acted, Actor, Rejected
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback_teams.account_links import AccountLinks, link_command
from tests.service_support import ask_user
from tests.unit.bot.conftest import Parts

LABELS = Labels()
ANN = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK)
BOB = Person(surface="web", user_id="bob@example.com", known=AuthMethod.PROXY)
IN_CHAT = Person(surface="chat", user_id="U012", name="ann.a")
OTHER = Person(surface="chat", user_id="U666", name="eve")
CONFIGURED = {"carl": ("chat:U300", "web:carl")}
DAY = 24 * 3_600.0


@dataclass
class Process:
    """A process's links, with its directory of people."""

    parts: Parts
    people: People = field(default_factory=lambda: People(CONFIGURED))
    keys: dict[str, str] = field(default_factory=lambda: {"ann": "sha256:1", "eve": "sha256:2"})
    signed_in_by: str | None = "x-user"

    def __post_init__(self) -> None:
        async def credentials() -> dict[str, str]:
            return self.keys

        store, clock = self.parts.store, self.parts.clock
        self.links = AccountLinks(store, clock, self.people, LABELS, credentials, self.signed_in_by)

    def service(self, **route: object) -> Service:
        """A service with this directory."""
        prod = Route.model_validate({"to": "chat:C1", "responders": ["U012", "U300"], **route})
        return self.parts.service(routes=Routes("prod", {"prod": prod}, self.people))

    async def use(self, text: str, by: Person = IN_CHAT, *, pressed: bool = False) -> CommandAnswer:
        """Give the command, or press a button below its answer."""
        return await self.links.command.answer(CommandUse(by, text, pressed))

    async def started(self, page: Person = ANN) -> str:
        """The code that somebody's page shows."""
        made = await self.links.start(page)
        assert made is not None
        return made.code

    async def agreed(self, page: Person = ANN, by: Person = IN_CHAT) -> str:
        """A code that the account's owner has typed and confirmed."""
        code = await self.started(page)
        shown = await self.use(code, by)
        [yes, _] = shown.buttons
        done = await self.use(yes.command.removeprefix("link "), by, pressed=True)
        assert done == CommandAnswer(LABELS.link_agreed)
        return code

    async def linked(self, page: Person = ANN, by: Person = IN_CHAT) -> None:
        """Link an account."""
        await self.agreed(page, by)
        assert await self.links.confirm(page, f"{by.surface}:{by.user_id}", mine=True)


@pytest.fixture
def process(parts: Parts) -> Process:
    return Process(parts)


@pytest.mark.rule("LINK-1", "LINK-7")
async def test_both_sides_confirm_in_words(
    process: Process, caplog: pytest.LogCaptureFixture, snapshot: SnapshotAssertion
) -> None:
    caplog.set_level(logging.INFO)
    code = await process.started()
    shown = await process.use(f" {code.lower().replace('-', '')}".strip())
    assert "Whoever opens Ann's personal link can then answer as you." in shown.text
    assert (
        shown._replace(
            buttons=tuple(
                b._replace(command=b.command.replace(code, "CODE")) for b in shown.buttons
            )
        )
        == snapshot
    )
    started = await process.links.started(ANN)
    assert started is not None
    assert not started.agreed
    assert not await process.links.confirm(ANN, "chat:U012", mine=True), "they have not agreed"
    await process.use(f"{code} yes", pressed=True)
    assert process.people.name_of(IN_CHAT) is None
    assert not await process.links.confirm(ANN, "chat:U666", mine=True), "somebody else"
    assert not await process.links.confirm(BOB, "chat:U012", mine=True), "somebody else's page"
    assert await process.links.confirm(ANN, "chat:U012", mine=True)
    assert process.people.name_of(IN_CHAT) == process.people.name_of(ANN) == "web:ann"
    assert not await process.links.confirm(ANN, "chat:U012", mine=True), "it is done"
    assert [r.action for r in caplog.records if hasattr(r, "action")] == [
        "link_started",
        "account_linked",
    ]
    [link] = await process.links.list_of(ANN)
    assert (link.id, link.page, link.at) == ("chat:U012", ANN, process.parts.clock.now())


@pytest.mark.rule("LINK-1")
async def test_who_is_signed_in_by_a_proxy_is_named_as_such(process: Process) -> None:
    shown = await process.use(await process.started(BOB))
    assert "Whoever signs in as bob@example.com can then answer as you." in shown.text


@pytest.mark.rule("LINK-2")
@pytest.mark.parametrize("line", ["{code} yes", "{code}  yes", "{code} YES", "{code} no"])
async def test_nobody_is_lured_to_confirm_by_typing(process: Process, line: str) -> None:
    """A line that somebody sends around, to be typed or pasted, only shows what it would do."""
    code = await process.started(Person(surface="web", user_id="eve", known=AuthMethod.LINK))
    shown = await process.use(line.format(code=code))
    assert [each.label for each in shown.buttons] == ["Yes, eve is me", LABELS.cancel]
    assert "If someone gave it to you, cancel" in shown.text


@pytest.mark.rule("LINK-2")
async def test_a_code_that_was_overheard_links_nothing_that_its_owner_does_not_confirm(
    process: Process,
) -> None:
    code = await process.agreed(ANN, OTHER)
    assert await process.use(code) == CommandAnswer(LABELS.link_bad_code), "it is used"
    started = await process.links.started(ANN)
    assert started is not None
    assert started.typed_by == OTHER
    assert await process.links.confirm(ANN, "chat:U666", mine=False)
    assert await process.links.started(ANN) is None
    assert process.people.name_of(OTHER) is None
    assert await process.use(f"{code} yes", OTHER, pressed=True) == CommandAnswer(
        LABELS.link_bad_code
    )


@pytest.mark.rule("LINK-2")
async def test_whoever_typed_the_code_can_cancel_and_nobody_else(process: Process) -> None:
    code = await process.agreed()
    await process.use(f"{code} no", OTHER, pressed=True)
    assert await process.links.started(ANN) is not None
    assert (await process.use(f"{code} no", pressed=True)).text == LABELS.link_cancelled
    assert await process.links.started(ANN) is None


@pytest.mark.rule("LINK-3")
async def test_it_takes_no_account_from_anybody(process: Process) -> None:
    await process.linked()
    for taken in (IN_CHAT, Person(surface="chat", user_id="U300")):
        answer = await process.use(await process.started(BOB), taken)
        assert answer == CommandAnswer(LABELS.link_taken)
    await process.agreed(BOB, OTHER)
    process.people.update_from(People({"dora": ("chat:U666",)}))
    assert not await process.links.confirm(BOB, "chat:U666", mine=True), "the file has it since"
    assert process.people.name_of(OTHER) == "dora"
    process.people.update_from(People({"dora": ("chat:U012",)}))
    assert process.people.name_of(IN_CHAT) == "dora", "the file takes precedence"
    assert not process.people.is_same(IN_CHAT, ANN)


@pytest.mark.rule("LINK-3")
async def test_a_person_of_the_file_links_a_further_account(process: Process) -> None:
    carl = Person(surface="web", user_id="carl", known=AuthMethod.PROXY)
    await process.linked(carl)
    assert process.people.name_of(IN_CHAT) == "carl"
    assert process.people.ids_on("carl", "chat") == ("U300", "U012")


@pytest.mark.rule("LINK-4")
async def test_wrong_codes_are_limited_for_each_account(process: Process) -> None:
    code = await process.started()
    for _ in range(5):
        assert await process.use("BBBB-BBBB", OTHER) == CommandAnswer(LABELS.link_bad_code)
    assert await process.use(code, OTHER) == CommandAnswer(LABELS.link_too_many)
    await process.parts.clock.set(-600)
    assert await process.use(code, OTHER) == CommandAnswer(LABELS.link_too_many), "the clock"
    await process.parts.clock.set(600)
    assert (await process.use(code)).buttons, "others may type it"
    await process.parts.clock.advance(3_601)
    assert await process.use("nothing", OTHER) == CommandAnswer(LABELS.link_bad_code)


@pytest.mark.rule("LINK-4")
@pytest.mark.parametrize("seconds", [901, -1])
async def test_a_code_ends_with_its_time_or_when_the_clock_is_set_back(
    process: Process, seconds: float
) -> None:
    code = await process.agreed()
    await process.parts.clock.set(seconds)
    assert await process.use(code) == CommandAnswer(LABELS.link_bad_code)
    assert not await process.links.confirm(ANN, "chat:U012", mine=True)
    assert await process.links.started(ANN) is None


@pytest.mark.rule("LINK-4")
async def test_no_code_is_shown_before_it_can_be_typed(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = process.parts.store.drafts.save, 0

    async def fail_after_one(key: str, value: JsonValue, at: float) -> None:
        nonlocal saved
        saved += 1
        if saved > 1:
            raise StoreError("the disk is full")
        await save(key, value, at)

    monkeypatch.setattr(process.parts.store.drafts, "save", fail_after_one)
    with pytest.raises(StoreError):
        await process.started()
    assert await process.links.started(ANN) is None


@pytest.mark.rule("LINK-4")
async def test_a_new_code_replaces_the_one_before(process: Process) -> None:
    old, new = await process.started(), await process.started()
    assert await process.use(old) == CommandAnswer(LABELS.link_bad_code)
    assert (await process.use(new)).buttons


@pytest.mark.rule("LINK-1")
async def test_whoever_is_nobody_in_particular_links_nothing(process: Process) -> None:
    for nobody in (operator("web"), Person(surface="web", user_id="x"), IN_CHAT):
        assert await process.links.start(nobody) is None


@pytest.mark.rule("LINK-8")
async def test_two_processes_link_one_account_once(process: Process, parts: Parts) -> None:
    other = Process(parts)
    await process.agreed(ANN)
    await other.agreed(BOB)
    linked = await asyncio.gather(
        process.links.confirm(ANN, "chat:U012", mine=True),
        other.links.confirm(BOB, "chat:U012", mine=True),
    )
    assert sorted(linked) == [False, True]
    for each in (process, other):
        await each.links.refresh()
        name = "web:ann" if linked[0] else "web:bob@example.com"
        assert each.people.name_of(IN_CHAT) == name


@pytest.mark.rule("LINK-5")
async def test_a_link_ends_with_the_personal_link_that_it_was_made_with(process: Process) -> None:
    await process.linked()
    for keys in ({}, {"ann": "sha256:9"}):
        process.keys = keys
        await process.links.refresh()
        assert process.people.name_of(IN_CHAT) is None, "another person may have this name"
    await process.linked(BOB)
    assert process.people.name_of(IN_CHAT) == "web:bob@example.com"
    assert process.people.may_be_same(IN_CHAT, ANN)


@pytest.mark.rule("LINK-5")
async def test_a_person_removes_their_own_links_and_the_operator_any(process: Process) -> None:
    await process.linked()
    assert not await process.links.remove("chat:U012", BOB, BOB)
    assert not await process.links.remove("chat:U1", ANN, ANN)
    assert await process.links.remove("chat:U012", ANN, ANN)
    assert (process.people.name_of(IN_CHAT), await process.links.list_of(None)) == (None, [])
    await process.linked(BOB)
    removed = await asyncio.gather(
        *(process.links.remove("chat:U012", operator("web"), None) for _ in range(2))
    )
    assert sorted(removed) == [False, True], "removed at the same time"
    assert process.people.name_of(IN_CHAT) is None


async def act(service: Service, ask: Ask, who: Person, value: bool | None = None) -> str:
    """Answer or confirm; return how it stands, or why it was refused."""
    action = Confirm() if value is None else Answer(value=value)
    done = await service.act(ask.id, action, Actor(who))
    if isinstance(done, Acted):
        return done.ask.status.value
    assert isinstance(done, Rejected)
    return done.problems[0].code if done.problems else done.why.value


async def submitted(service: Service) -> Ask:
    return (await service.submit(ask_user(to="prod", responders=None))).ask


CARL = Person(surface="chat", user_id="U300")


@pytest.mark.rule("LINK-6", "PEOPLE-4")
async def test_a_linked_page_answers_as_the_account_until_the_link_is_removed(
    process: Process,
) -> None:
    service = process.service()
    first, second = await submitted(service), await submitted(service)
    assert await act(service, first, ANN, True) == refusals.NOT_IN_DIRECTORY.code
    await process.linked()
    waiting = await service.list_waiting_for(Actor(ANN), None, 9)
    assert [ask.id for ask in waiting.rows] == [first.id, second.id]
    assert await act(service, first, ANN, True) == Status.ANSWERED
    assert [ask.id for ask in await service.list_answered_by(IN_CHAT, 9)] == [first.id]
    await process.links.remove("chat:U012", ANN, ANN)
    assert await act(service, second, ANN, True) == refusals.NOT_IN_DIRECTORY.code
    assert (await service.list_waiting_for(Actor(ANN), None, 9)).rows == ()


@pytest.mark.rule("LINK-6")
async def test_a_linked_account_confirms_nothing_for_a_day(process: Process) -> None:
    """From either side; the page itself and other accounts confirm as before."""
    service = process.service(confirmations=1)
    await process.linked()
    ask = await submitted(service)
    await act(service, ask, CARL, True)
    for who in (IN_CHAT, ANN):
        assert await act(service, ask, who) == refusals.LINKED_RECENTLY.code
    await process.parts.clock.set(-7 * DAY)
    assert await act(service, ask, ANN) == refusals.LINKED_RECENTLY.code, "the clock"
    await process.parts.clock.set(7 * DAY)
    await process.parts.clock.advance(DAY - 1)
    assert await act(service, ask, IN_CHAT) == refusals.LINKED_RECENTLY.code
    await process.parts.clock.advance(1)
    assert await act(service, ask, ANN) == Status.ANSWERED


@pytest.mark.rule("LINK-6")
async def test_a_recent_link_lends_nobody_a_confirmation_elsewhere(process: Process) -> None:
    """An account linked just now does not confirm where an older account of the same page may."""
    service = process.service(confirmations=1)
    await process.linked()
    await process.parts.clock.advance(2 * DAY)
    elsewhere = Person(surface="discord", user_id="9")
    await process.linked(ANN, elsewhere)
    ask = await submitted(service)
    await act(service, ask, CARL, True)
    assert await act(service, ask, elsewhere) == refusals.LINKED_RECENTLY.code
    assert await act(service, ask, IN_CHAT) == Status.ANSWERED


@pytest.mark.rule("LINK-6")
@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("passed", [0.0, 2 * DAY])
async def test_one_human_being_with_two_accounts_confirms_nothing_of_their_own(
    process: Process, removed: bool, passed: float
) -> None:
    """Neither within the day nor later, nor after the link was removed while the confirmation waits."""
    service = process.service(confirmations=1, responders=["U012", "U666", "U300"])
    await process.linked(ANN, IN_CHAT)
    await process.linked(ANN, OTHER)
    await process.parts.clock.advance(passed)
    ask = await submitted(service)
    assert await act(service, ask, IN_CHAT, True) == Status.OPEN
    if removed:
        for account in ("chat:U012", "chat:U666"):
            await process.links.remove(account, ANN, ANN)
    assert await act(service, ask, OTHER) == refusals.ALREADY_ANSWERED.code
    assert await act(service, ask, CARL) == Status.ANSWERED


@pytest.mark.rule("LINK-6")
async def test_a_recent_link_tells_nobody_apart(process: Process) -> None:
    """An answer of an account that was only just linked to a second page is not another person's."""
    web = {"to": "chat:C1", "responders": ["U012", "carl", "U300"], "confirmations": 1}
    service = process.service(**web)
    discord = Person(surface="discord", user_id="9")
    await process.linked(ANN, IN_CHAT)
    people = process.people
    now = process.parts.clock.now()
    assert not people.is_different(Person(surface="web", user_id="carl"), IN_CHAT, now)
    assert people.is_different(Person(surface="web", user_id="carl"), IN_CHAT, now + DAY)
    assert not people.is_different(discord, IN_CHAT, now + DAY)
    assert service.people is people


@pytest.mark.rule("LINK-6")
async def test_the_agents_owner_does_not_confirm_by_an_account_that_was_theirs(
    process: Process,
) -> None:
    carl = Person(surface="web", user_id="carl", known=AuthMethod.PROXY)
    await process.linked(carl, IN_CHAT)
    await process.links.remove("chat:U012", carl, carl)
    rule = ConfirmationRule(due=1, requester="carl")
    done = confirm(rule, (), (), Vote(by=IN_CHAT, at=process.parts.clock.now()), process.people)
    assert done is refusals.REQUESTER


async def test_those_who_only_list_the_command_cannot_give_it() -> None:
    with pytest.raises(AssertionError):
        await link_command(LABELS).answer(CommandUse(IN_CHAT))

"""Agents that people connect themselves, by the device authorization grant (RFC 8628): codes, polls and tokens.

A program gets two codes. It polls with the long one; a person types the short one where they are signed in, is shown
who asks, and decides. Nobody is told anything before: what a program sends reaches only whoever types its code.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.http.client_address import ClientAddress
from answerback.ports.clock import MIN_CLOCK_STEP, Clock
from answerback.ports.extension import KnownAgent
from answerback.ports.person_key import hash_of, new_token
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.service.grants import CredentialOf
from answerback.service.inbox import find_groups_among
from answerback_teams.onboarding_rules import FindGroups, may_own
from answerback_teams.stored_sign_ins import StoredSignIns
from answerback_teams.typed_codes import (
    CodeGuesses,
    GuessLimit,
    WrongCode,
    new_code,
    random_letters,
    read_code,
)
from answerback_teams.values import (
    AgentToken,
    AskingProgram,
    Redeemed,
    RulesInForce,
    SignIn,
    SignInRefusal,
    SignInState,
    WaitingRoom,
    account_of,
)

logger = logging.getLogger(__name__)

CODE_SECONDS: Final = 600
"""Seconds for which a code is valid."""
INTERVAL: Final = 5
"""Seconds between two polls, and by how many more that grows if a program polls faster (RFC 8628, section 3.5)."""
_MAX_INTERVAL: Final = 60
_JITTER: Final = 1.0
"""Seconds by which a poll may be early: the network delays each differently."""
MAX_WAITING: Final = 1_000
"""Sign-ins that wait at the same time; so an attacker who guesses has one code in 25 million."""
MAX_WAITING_PER_ADDRESS: Final = 200
"""The most of these from one address: an office is behind one."""
FEW_WAITING: Final = 20
"""Addresses with as many share half of the places; the others are for those with fewer."""
WRONG_CODES: Final = 10
"""Codes that do not exist, and that a person may enter in ten minutes."""
ALL_WRONG_CODES: Final = 1_000
"""The number of wrong codes that everyone together may enter."""
_GROUP_SECONDS: Final = 300.0
"""Seconds for which it is remembered in which groups an agent's owner is."""
MAX_REMEMBERED: Final = 10_000
_ID: Final = "sign_in_"
_NAME_PART: Final = 20
_SUFFIX_LENGTH: Final = 9
"""Letters by which agents of one program are told apart: of 10,000, two are alike once in 10,000 services."""
_MAX_LABEL: Final = 100


class PollError(StrEnum):
    """Why a poll gets no token: the codes of RFC 6749 and RFC 8628."""

    AUTHORIZATION_PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    ACCESS_DENIED = "access_denied"
    EXPIRED_TOKEN = "expired_token"
    INVALID_GRANT = "invalid_grant"


@dataclass(frozen=True, slots=True)
class Codes:
    """The two codes of a new sign-in; whoever has the device's can collect the token."""

    device: str = field(repr=False)
    user: str


@dataclass(frozen=True, slots=True)
class Issued:
    """A token, which nobody can read again."""

    token: str = field(repr=False)
    agent: AgentToken


def _device_hash(code: str) -> str:
    return hash_of(f"device:{code}")


def _user_hash(code: str) -> str:
    """Return the hash of a code as a person types it."""
    return hash_of(f"user:{read_code(code)}")


class SignIns:
    """Connects agents and authenticates them.

    Args:
        in_force: the operator's rules.
        surfaces: the running surfaces by name.
        credential_of: returns what proves who a person is.
        is_taken: returns whether the configuration names an agent so.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        in_force: RulesInForce,
        people: People,
        surfaces: Mapping[str, Surface],
        credential_of: CredentialOf,
        is_taken: Callable[[str], bool],
    ) -> None:
        self._store, self._clock = StoredSignIns(store.rows), clock
        self._in_force = in_force
        self._people, self._surfaces = people, surfaces
        self._credential_of = credential_of
        self._is_taken = is_taken
        limit = GuessLimit("sign-in", WRONG_CODES, CODE_SECONDS, ALL_WRONG_CODES)
        self._guesses = CodeGuesses(store.drafts, clock, limit)
        self._groups: dict[tuple[str, frozenset[str]], tuple[float, frozenset[str]]] = {}

    # --- the program ---------------------------------------------------------------------------------

    async def begin(self, asked_by: AskingProgram) -> Codes | None:
        """Store a sign-in, and return its codes; None if too many wait already."""
        codes = Codes(secrets.token_urlsafe(32), new_code())
        now = self._clock.now()
        new = SignIn(
            id=f"{_ID}{secrets.token_hex(16)}",
            device_hash=_device_hash(codes.device),
            user_hash=_user_hash(codes.user),
            asked_by=asked_by,
            at=now,
            until=now + CODE_SECONDS,
            interval=INTERVAL,
        )
        source = ClientAddress(asked_by.address, asked_by.is_reported).source
        room = WaitingRoom(MAX_WAITING, MAX_WAITING_PER_ADDRESS, FEW_WAITING)
        stored = await self._store.add_sign_in(new, source, room)
        return codes if stored else None

    async def poll(self, device_code: str) -> Issued | PollError:
        """Return the token if a person has approved the sign-in, once; else why there is none."""
        sign_in, now = await self._store.find_sign_in(_device_hash(device_code)), self._clock.now()
        if sign_in is None:
            return PollError.INVALID_GRANT
        if not self._is_valid(sign_in):
            return PollError.EXPIRED_TOKEN
        if sign_in.state is SignInState.DENIED:
            return PollError.ACCESS_DENIED
        polled_at = sign_in.polled_at
        is_early = polled_at is not None and now - polled_at < sign_in.interval - _JITTER
        interval = min(sign_in.interval + INTERVAL, _MAX_INTERVAL) if is_early else sign_in.interval
        polled = replace(sign_in, polled_at=now, interval=interval)
        is_sole = await self._store.replace_sign_in(sign_in, polled)
        if is_early or not is_sole:
            return PollError.SLOW_DOWN if is_early else PollError.AUTHORIZATION_PENDING
        if polled.state is SignInState.PENDING:
            return PollError.AUTHORIZATION_PENDING
        return await self._exchange(polled)

    async def _exchange(self, approved: SignIn) -> Issued | PollError:
        owner, rules, token = approved.seen_by, self._in_force.rules, new_token()
        if owner is None or not await self._is_still_allowed(owner, approved.credential):
            return PollError.ACCESS_DENIED
        agent = AgentToken(
            token_hash=hash_of(token),
            name=self._new_name(approved.asked_by),
            owner=owner,
            credential=approved.credential,
            asked_by=approved.asked_by,
            at=self._clock.now(),
            until=self._clock.now() + rules.days * 86_400,
        )
        redeemed = await self._store.redeem(
            approved, agent, self._accounts(owner), rules.agents_per_person
        )
        if redeemed is not Redeemed.ISSUED:
            is_full = redeemed is Redeemed.FULL
            return PollError.ACCESS_DENIED if is_full else PollError.INVALID_GRANT
        extra = {"action": "agent_connected", "agent": agent.name, "owner": account_of(owner)}
        logger.info("A person has connected an agent", extra=extra)
        return Issued(token, agent)

    def _new_name(self, asked_by: AskingProgram) -> str:
        """Return a name that says nothing about the owner: it outlives what is erased."""
        program = _slug(asked_by.program) or "agent"
        while True:
            name = f"{program}-{random_letters(_SUFFIX_LENGTH).lower()}"
            if not self._is_taken(name):
                return name

    # --- the person ----------------------------------------------------------------------------------

    async def look_up(self, code: str, person: Person) -> SignIn | SignInRefusal:
        """Return what waits with a code, to be shown to this person. Only then can they decide about it."""
        refusal = await self._refusal(person)
        return refusal or await self._show(code, person)

    async def decide(self, key: str, person: Person, *, approve: bool) -> SignIn | SignInRefusal:
        """Approve or deny a sign-in, given by its id or its code; return it as it is then.

        One that was not shown to this person is still pending then, and is to be shown.
        """
        if refusal := await self._refusal(person):
            return refusal
        sign_in = await self._find(key)
        if sign_in is None or not _is_same(sign_in.seen_by, person):
            return await self._show(key, person)
        if sign_in.state is not SignInState.PENDING:
            return sign_in
        if approve and await self._is_full(person):
            return SignInRefusal.FULL
        credential = await self._credential_of(person)
        state = SignInState.APPROVED if approve else SignInState.DENIED
        if credential is None:
            return SignInRefusal.FORBIDDEN
        decided = await self._change(
            sign_in, person, lambda now: replace(now, state=state, credential=credential)
        )
        if not isinstance(decided, SignInRefusal):
            extra = {"action": "sign_in", "state": state.value, "owner": account_of(person)}
            logger.info("A person has decided about a program's sign-in", extra=extra)
        return decided

    async def _show(self, key: str, person: Person) -> SignIn | SignInRefusal:
        """Note that a sign-in is shown to a person. Codes that do not exist are counted."""
        account = self._accounts(person)[0]
        match await self._guesses.look_up(account, lambda: self._find(key)):
            case WrongCode.TOO_MANY:
                return SignInRefusal.TOO_OFTEN
            case WrongCode.UNKNOWN:
                return SignInRefusal.UNKNOWN
            case SignIn() as sign_in:
                named = self._people.as_named(person)
                return await self._change(sign_in, None, lambda now: replace(now, seen_by=named))

    async def _change(
        self, sign_in: SignIn, shown_to: Person | None, change: Callable[[SignIn], SignIn]
    ) -> SignIn | SignInRefusal:
        """Change a sign-in that still waits. Its program may poll meanwhile, which changes it too."""
        found: SignIn | None = sign_in
        while found is not None:
            is_shown = shown_to is None or _is_same(found.seen_by, shown_to)
            if found.state is not SignInState.PENDING or not is_shown:
                break
            changed = change(found)
            if await self._store.replace_sign_in(found, changed):
                return changed
            found = await self._find(found.id)
        return SignInRefusal.UNKNOWN

    async def _find(self, key: str) -> SignIn | None:
        """Return the sign-in with this id or code, unless it has expired."""
        is_id = key.startswith(_ID)
        found = await self._store.find_sign_in(key if is_id else _user_hash(key))
        return found if found is not None and self._is_valid(found) else None

    def is_open(self) -> bool:
        """Return True if any person may connect agents."""
        return bool(self._in_force.rules.owners)

    def terms(self) -> tuple[float, str]:
        """Return how many days an agent may ask, and on which route."""
        return self._in_force.rules.days, self._in_force.rules.route

    async def list_for(self, person: Person | None) -> Sequence[AgentToken]:
        """Return the agents of a person, or with None of all, oldest first."""
        found, now = await self._store.list_tokens(), self._clock.now()
        return [
            each
            for each in found
            if each.until > now and (person is None or self._people.is_same(each.owner, person))
        ]

    async def remove(self, name: str, person: Person | None) -> bool:
        """Remove an agent of a person, or with None of any; False if there is none of this name."""
        theirs = {each.name for each in await self.list_for(person)}
        removed = name in theirs and await self._store.remove_token(name)
        if removed:
            by = "operator" if person is None else account_of(person)
            logger.info(
                "An agent was removed",
                extra={"action": "agent_removed", "agent": name, "by": by},
            )
        return removed

    # --- who may -------------------------------------------------------------------------------------

    async def find_agent(self, token: str) -> KnownAgent | None:
        """Return the agent that has this token, if that is valid and its owner may still have agents."""
        found, rules = await self._store.find_token(hash_of(token)), self._in_force.rules
        if found is None or self._clock.now() >= found.until:
            return None
        if not await self._is_still_allowed(found.owner, found.credential):
            return None
        owner = self._people.as_named(found.owner)
        label = f"{found.asked_by.program} ({owner.name or owner.user_id})"
        return KnownAgent(
            name=found.name,
            routes=(rules.route,),
            label=label[:_MAX_LABEL],
            owner=self._people.owner_name(owner),
            limits=rules.limits,
        )

    async def _refusal(self, person: Person) -> SignInRefusal | None:
        if person.known is AuthMethod.KEY:
            return SignInRefusal.OPERATOR
        allowed = await self._may_own(person, self._find_groups)
        if allowed is None:
            return SignInRefusal.UNSURE
        return None if allowed else SignInRefusal.FORBIDDEN

    async def _may_own(self, person: Person, find_groups: FindGroups) -> bool | None:
        return await may_own(self._in_force.rules, person, self._people, find_groups)

    async def _is_still_allowed(self, owner: Person, credential: str) -> bool:
        """Return True if an owner may still have agents; also while their platform cannot say."""
        is_known = await self._credential_of(owner) == credential
        return is_known and await self._may_own(owner, self._remembered_groups) is not False

    async def _find_groups(self, account: Person, groups: frozenset[str]) -> frozenset[str] | None:
        return await find_groups_among(self._surfaces.get(account.surface), account, groups)

    async def _remembered_groups(
        self, account: Person, groups: frozenset[str]
    ) -> frozenset[str] | None:
        """Return groups that are looked up from time to time only: agents call often."""
        key, now = (account_of(account), groups), self._clock.monotonic()
        until, found = self._groups.get(key, (now, frozenset[str]()))
        if now < until:
            return found
        latest = await self._find_groups(account, groups)
        if latest:
            if len(self._groups) >= MAX_REMEMBERED:
                self._groups.clear()
            self._groups[key] = now + _GROUP_SECONDS, latest
        return latest

    async def _is_full(self, person: Person) -> bool:
        most = self._in_force.rules.agents_per_person
        return len(await self.list_for(person)) >= most

    def _accounts(self, person: Person) -> list[str]:
        """Return all accounts of a person, the same first whichever one they use."""
        accounts = self._people.accounts_of(person)
        return sorted(f"{surface}:{user_id}" for surface, user_id in accounts)

    def _is_valid(self, sign_in: SignIn) -> bool:
        return sign_in.at - MIN_CLOCK_STEP <= self._clock.now() < sign_in.until


def _is_same(seen_by: Person | None, person: Person) -> bool:
    return seen_by is not None and account_of(seen_by) == account_of(person)


def _slug(text: str) -> str:
    """Return a text as a part of an agent's name."""
    return re.sub("[^a-z0-9]+", "-", text.lower())[:_NAME_PART].strip("-")

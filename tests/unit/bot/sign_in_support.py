"""Sign-ins over a real file, with a chat and a page whose people may connect agents."""

from __future__ import annotations

from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.person import AuthMethod, Person
from answerback.ports.store_values import AskLimits
from answerback_teams.sign_ins import (
    Codes,
    Issued,
    SignIns,
)
from answerback_teams.values import (
    AskingProgram,
    OnboardingRules,
    RulesInForce,
    SignIn,
    SignInState,
)
from tests.unit.bot.conftest import Parts

ANN = Person(surface="web", user_id="ann@example.com", name="Ann", known=AuthMethod.PROXY)
BOB = Person(surface="web", user_id="bob", known=AuthMethod.LINK)
CY = Person(surface="chat", user_id="U3", name="Cy")
CLAUDE = AskingProgram("Claude Code", "laptop", "192.0.2.1")
LIMITS = AskLimits(1, 2, 3)
RULES = OnboardingRules(
    owners=("web:ann@example.com", "web:bob", "chat:@G1"),
    surfaces=frozenset({"web", "chat", "pager"}),
    route="team",
    agents_per_person=2,
    days=30,
    limits=LIMITS,
)


class Rig:
    """Sign-ins over a real file; credentials are those in ``links``."""

    def __init__(self, parts: Parts, rules: OnboardingRules = RULES, people: People = NOBODY_KNOWN):
        self.clock, self.chat, self.store = parts.clock, parts.chat, parts.store
        self.links: dict[str, str] = {"bob": "hash of bob's key"}
        self.rules, self.people = RulesInForce(rules), people
        self.taken: list[str] = []
        self.sign_ins = self.another()

    def another(self) -> SignIns:
        """Return the same in another process."""
        surfaces = {"chat": self.chat, "web": self.chat}
        parts = (self.store, self.clock, self.rules, self.people, surfaces)
        return SignIns(*parts, self._credential_of, self._is_taken)

    def _is_taken(self, name: str) -> bool:
        self.taken.append(name)
        return len(self.taken) == 1

    async def _credential_of(self, person: Person) -> str | None:
        return "" if person.known is not AuthMethod.LINK else self.links.get(person.user_id)

    async def begin(self) -> Codes:
        codes = await self.sign_ins.begin(CLAUDE)
        assert codes is not None
        return codes

    async def approved(self, person: Person = ANN, *, sign_ins: SignIns | None = None) -> Codes:
        """Return the codes of a sign-in that a person has approved."""
        codes, sign_ins = await self.begin(), sign_ins or self.sign_ins
        shown = await sign_ins.look_up(codes.user, person)
        assert isinstance(shown, SignIn), shown
        decided = await sign_ins.decide(shown.id, person, approve=True)
        assert isinstance(decided, SignIn), decided
        assert decided.state is SignInState.APPROVED
        return codes

    async def connected(self, person: Person = ANN) -> Issued:
        """Return the token of an agent that a person has connected."""
        issued = await self.sign_ins.poll((await self.approved(person)).device)
        assert isinstance(issued, Issued), issued
        return issued

"""The operator's rules for those who connect agents, and who is among them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from answerback.core.ask import ANYONE
from answerback.core.errors import ConfigError
from answerback.core.people import PERSON_PREFIX, People
from answerback.core.person import Person
from answerback.ports.extension import Configured
from answerback_teams.values import NO_ONBOARDING, OnboardingRules

FindGroups = Callable[[Person, frozenset[str]], Awaitable[frozenset[str] | None]]
"""Returns which of these groups an account is in; None if its surface cannot say yet."""


def build_rules(configured: Configured) -> OnboardingRules:
    """Build the rules.

    Raises:
        ConfigError: it is not known which surface an owner is on.
    """
    table, surfaces = configured.table, configured.surfaces
    if not table.owners:
        return NO_ONBOARDING
    name = table.route or configured.default_route
    home = configured.surface_of(name)
    for owner in table.owners if home is None else ():
        if owner != ANYONE and not owner.startswith(
            (PERSON_PREFIX, *(f"{each}:" for each in surfaces))
        ):
            raise ConfigError(
                f"onboarding.owners names {owner!r}, but not on which surface: write SURFACE:{owner}."
            )
    return OnboardingRules(
        owners=table.owners,
        home=home,
        surfaces=surfaces,
        route=name,
        agents_per_person=table.agents_per_person,
        days=table.days,
        limits=configured.limits(table.limits),
    )


def describe(rules: OnboardingRules) -> str:
    """Say who may connect how many agents, where and for how long."""
    if not rules.owners:
        return "none"
    names = ", ".join(rules.owners)
    days = "1 day" if rules.days == 1 else f"{rules.days:g} days"
    return f"{rules.agents_per_person} each for {names}, on the route {rules.route}, for {days}"


async def may_own(
    rules: OnboardingRules, person: Person, people: People, find_groups: FindGroups
) -> bool | None:
    """Return True if a person may connect agents, by any of their accounts; None if a surface cannot say yet."""
    accounts = people.accounts_of(person)
    named = {surface: _names_on(rules, surface, people) for surface, _ in accounts}
    if ANYONE in named[person.surface] or any(user in named[on] for on, user in accounts):
        return True
    sure: bool | None = False
    for surface, user_id in accounts:
        groups = frozenset(each[1:] for each in named[surface] if each.startswith("@"))
        found = await find_groups(Person(surface=surface, user_id=user_id), groups)
        if found:
            return True
        sure = None if found is None else sure
    return sure


def _names_on(rules: OnboardingRules, surface: str, people: People) -> set[str]:
    """Return the owners as the surface knows them."""
    names: set[str] = set()
    for owner in rules.owners:
        prefix, _, name = owner.partition(":")
        if owner == ANYONE:
            names.add(ANYONE)
        elif owner.startswith(PERSON_PREFIX):
            names.update(people.ids_on(name, surface))
        elif name and prefix in rules.surfaces:
            names.update({name} if prefix == surface else ())
        elif rules.home == surface:
            names.add(owner)
    return names

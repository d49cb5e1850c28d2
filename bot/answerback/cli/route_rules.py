"""The findings of `answerback doctor` about the routes on which other people confirm the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from answerback.core.ask import ANYONE, Destination
from answerback.core.confirmation import ConfirmationRule
from answerback.core.people import PERSON_PREFIX, People
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.plugin import Finding
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.extensions import configured_for
from answerback.runtime.from_settings import build_people
from answerback.runtime.plugins import installed_plugins
from answerback.service.submission_confirmers import find_confirmation_problem, plan_confirmers
from answerback.service.submission_plan import OWNER, parse_destination
from answerback.service.submission_request import ConfirmationTable, Route, normalize_responders

_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PROOFS: Final = {
    "accounts": "two accounts on {surface} (accounts)",
    "links": "two personal links, and where no agent has a token one person can make two (links)",
}


def describe_confirmations(settings: Settings) -> Iterator[Finding]:
    """Say in words who answers and who confirms on each route, and warn where there can never be enough people."""
    for name, route in settings.routes.items():
        if route.confirmations is not None:
            what = f"routes.{name}: {_sentence(route, route.confirmations, settings)}"
            wrong = _find_impossible(name, route.confirmations, settings)
            fix = "Name more people in responders or in confirmations.from, or lower confirmations."
            yield Finding(what) if wrong is None else Finding(what, wrong, fix, warning=True)


def _sentence(route: Route, table: ConfirmationTable, settings: Settings) -> str:
    number, one = _NUMBERS[table.count - 1], table.count == 1
    verb = "confirms" if one else "confirm"
    answerers = _answerers(route.responders, settings)
    if table.confirmers is None:
        confirm = f"{number} {'other' if one else 'others'} of them {verb}"
    else:
        confirm = f"{number} of {_list(table.confirmers, settings)} {verb}"
    return f"{answerers}, {confirm}{_proof(route, settings)}"


def _answerers(names: Sequence[str] | None, settings: Settings) -> str:
    if names is None:
        return "those whom the call or the surface names answer"
    if names == ANYONE:
        return "anyone who sees it answers"
    verb = "answer" if names[-1].startswith("@") else "answers"
    return f"{_list(names, settings)} {verb}"


def _list(names: Sequence[str], settings: Settings) -> str:
    *others, last = (_name(each, settings) for each in names)
    return f"{', '.join(others)} or {last}" if others else last


def _name(one: str, settings: Settings) -> str:
    if one.startswith("@"):
        return f"the members of {one}"
    name = one.removeprefix(PERSON_PREFIX)
    person = settings.people.get(name) if name != one else None
    return person.name if person and person.name else name


def _proof(route: Route, settings: Settings) -> str:
    """Return what it proves there that two people acted, with its name in receipts."""
    plugins = installed_plugins()
    place = parse_destination(route.to, plugins.names)
    surface = place.surface if isinstance(place, Destination) else None
    strengths = [
        plugin_settings(settings, each).strength() for each in plugins if each.name == surface
    ]
    proofs = [_PROOFS[strength].format(surface=surface) for strength in strengths]
    added = {
        strength
        for each in installed_extensions().usable.values()
        for strength in each.strengths(configured_for(settings, each))
    }
    proofs += [
        _PROOFS[strength].format(surface=surface) for strength in sorted(added - {*strengths})
    ]
    vouching = [name for name, agent in settings.agents.items() if agent.role == "surface"]
    proofs += [f"the word of agents.{name} (vouched)" for name in vouching]
    return f"; two people are {' or '.join(proofs)}" if proofs else ""


def _find_impossible(name: str, table: ConfirmationTable, settings: Settings) -> str | None:
    """Return that there are never enough people, and for which agent; None if there can be."""
    route, people = settings.routes[name], build_people(settings)
    owners: list[tuple[str | None, str]] = [(None, "")]
    owners += [
        (agent.owner, f" if agents.{agent_name} asks")
        for agent_name, agent in settings.agents.items()
        if agent.owner is not None and name in (agent.routes or (name,))
    ]
    for owner, when in owners:
        requester = owner if route.requester is None else None
        rule = ConfirmationRule(due=table.count, requester=requester)
        places = _places(route, owner, people)
        if places and not any(_can_be_met(route, table, rule, each, people) for each in places):
            return f"there are never enough people to confirm{when}"
    return None


def _places(route: Route, owner: str | None, people: People) -> list[Destination]:
    if route.to == OWNER:
        accounts = people.accounts_named(owner) if owner is not None else ()
        return [Destination(surface=surface, user=user_id) for surface, user_id in accounts]
    place = parse_destination(route.to, installed_plugins().names)
    return [place] if isinstance(place, Destination) else []


def _can_be_met(
    route: Route,
    table: ConfirmationTable,
    rule: ConfirmationRule,
    place: Destination,
    people: People,
) -> bool:
    of_place = (ANYONE,) if place.user is None else (place.user,)
    surface = place.surface
    responders = normalize_responders(route.responders, surface, people)
    confirmers = plan_confirmers(table, surface, people, lambda _surface: True)
    if responders == () or confirmers == ((), ()):
        return False
    here, elsewhere = confirmers or ((), ())
    named = responders or of_place
    return find_confirmation_problem(rule, here, named, place, people, elsewhere) is None

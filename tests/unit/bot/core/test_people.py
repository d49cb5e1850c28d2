"""Who is whom in the directory of people, beyond what the service's tests show."""

from __future__ import annotations

import pytest

from answerback.core import refusals
from answerback.core.confirmation import ConfirmationRule, Vote, confirm
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person

PEOPLE = People({"ann": ("chat:ann", "web:ann@example.com"), "bob": ("chat:bob", "web:bob")})
ANN, BOB = (Person(surface="chat", user_id=name) for name in ("ann", "bob"))


def test_a_name_may_stand_for_an_account_alone() -> None:
    assert PEOPLE.accounts_named("chat:cy") == (("chat", "cy"),)
    assert PEOPLE.accounts_named("cy") == ()


def test_accounts_of_one_person_are_never_different_people() -> None:
    ann_on_the_web = Person(surface="web", user_id="ann@example.com")
    assert not PEOPLE.is_different(ANN, ann_on_the_web, 1.0)
    assert not PEOPLE.is_different(ANN, ANN, 1.0)
    assert PEOPLE.is_same(ANN, ann_on_the_web)
    assert not PEOPLE.is_same(ANN, BOB)
    assert PEOPLE.is_different(ann_on_the_web, BOB, 1.0)
    assert not PEOPLE.is_different(Person(surface="web", user_id="cy"), BOB, 1.0)


@pytest.mark.rule("CONFIRM-3")
@pytest.mark.parametrize("spelt", ["Ann@Example.com", "ANN@EXAMPLE.COM", "ａnn@example.com"])
def test_spellings_of_a_name_are_not_two_people(spelt: str) -> None:
    """A proxy passes on what was typed, and signs in whoever it is."""
    proxy = Person(surface="web", user_id="ann@example.com", known=AuthMethod.PROXY)
    typed = Person(surface="web", user_id=spelt, known=AuthMethod.PROXY)
    for people in (People({}), PEOPLE):
        assert people.may_be_same(proxy, typed)
        assert not people.is_different(typed, proxy, 1.0)
        assert not people.is_same(typed, proxy), "what she may do stays hers by her name as listed"
    assert PEOPLE.may_be_same(typed, ANN)
    voted = confirm(ConfirmationRule(due=1), (proxy,), (), Vote(by=typed, at=1.0), PEOPLE)
    assert voted is refusals.ALREADY_ANSWERED


@pytest.mark.rule("CONFIRM-3")
def test_a_personal_link_and_a_name_from_a_proxy_may_be_one_persons() -> None:
    people = People({"ann": ("web:ann", "web:ann@example.com"), "bob": ("web:bob@example.com",)})
    link = Person(surface="web", user_id="cy", known=AuthMethod.LINK)
    other_link = Person(surface="web", user_id="dee", known=AuthMethod.LINK)
    proxy = Person(surface="web", user_id="cy@example.com", known=AuthMethod.PROXY)
    assert not people.is_different(link, proxy, 1.0)
    assert not people.is_different(proxy, link, 1.0)
    assert people.is_different(link, other_link, 1.0)
    ann = Person(surface="web", user_id="ann", known=AuthMethod.LINK)
    bob = Person(surface="web", user_id="bob@example.com", known=AuthMethod.PROXY)
    assert people.is_different(ann, bob, 1.0)

"""Who is whom in the directory of people, beyond what the service's tests show."""

from __future__ import annotations

import pytest

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
    assert PEOPLE.is_different(ann_on_the_web, BOB, 1.0)
    assert not PEOPLE.is_different(Person(surface="web", user_id="cy"), BOB, 1.0)


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

"""Who is whom in the directory of people, beyond what the service's tests show."""

from __future__ import annotations

from answerback.core.people import People
from answerback.core.person import Person

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

"""Each implemented rule of the specification is proved by a test, and each mark names such a rule."""

import ast

import pytest

from tests.meta.rules import Marks, marks, note_marks, rules, rules_of


def test_every_implemented_rule_is_proved_by_a_test() -> None:
    unproved = [rule for rule in rules().built if rule not in marks().proofs]
    assert unproved == [], "mark a test with @pytest.mark.rule"


def test_every_mark_names_an_implemented_rule() -> None:
    named = set(marks().proofs)
    assert sorted(named - {*rules().built, *rules().planned}) == [], "there is no such rule"
    assert sorted(named & {*rules().planned}) == [], "the specification says that it is planned"
    assert marks().unread == []


def test_rule_ids_are_unique() -> None:
    assert rules().duplicates == ()
    assert rules().unreadable == ()


def test_rules_are_parsed() -> None:
    page = (
        "- **A-1** One.\n  More.\n- **A-2** *(planned)* Two.\n- **A-1** Again.\n- **Bold** text\n"
    )
    found = rules_of(page)
    assert (found.built, found.planned) == (("A-1", "A-1"), ("A-2",))
    assert (found.duplicates, found.unreadable) == (("A-1",), ("- **Bold** text",))


@pytest.mark.parametrize(
    ("source", "proofs"),
    [
        ("@{}\ndef test_a(): ...", [("f.py", "test_a")]),
        ("@{}\nasync def test_a(): ...", [("f.py", "test_a")]),
        ("@{}\nclass A:\n  def test_a(self): ...", [("f.py", "A")]),
        ("class A:\n  @{}\n  def test_a(self): ...", [("f.py", "test_a")]),
        ("@{}\nclass TestA(Inherited): ...", [("f.py", "TestA")]),
        ("pytestmark = {}\ndef test_a(): ...", [("f.py", "")]),
        ("pytestmark = {}\nTestA = A.TestCase", [("f.py", "")]),
        ("pytestmark = [pytest.mark.browser, {}]\ndef test_a(): ...", [("f.py", "")]),
    ],
)
def test_a_mark_on_a_test_is_parsed(source: str, proofs: list[tuple[str, str]]) -> None:
    found = Marks()
    note_marks(found, "f.py", ast.parse(source.replace("{}", 'pytest.mark.rule("A-1")')))
    assert dict(found.proofs) == {"A-1": proofs}
    assert found.unread == []


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.rule("A-1")\ndef helper(): ...',
        '@pytest.mark.rule("A-1")\nclass Empty: ...',
        'pytestmark = pytest.mark.rule("A-1")',
        'marks = pytest.mark.rule("A-1")\ndef test_a(): ...',
        "@pytest.mark.rule(NAME)\ndef test_a(): ...",
        "@pytest.mark.rule()\ndef test_a(): ...",
    ],
)
def test_a_mark_that_proves_nothing_is_reported(source: str) -> None:
    found = Marks()
    note_marks(found, "f.py", ast.parse(source))
    assert found.unread

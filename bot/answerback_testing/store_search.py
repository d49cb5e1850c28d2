"""Contract tests for a store's search, and for its list of the asks that wait for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Object, Other, Reply
from answerback.core.ask import ANYONE, Ask, Destination, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.origin import Origin
from answerback.core.urgency import Urgency
from answerback.core.walker import Person
from answerback.ports.search import (
    MAX_WORD_BYTES,
    MAX_WORD_LENGTH,
    Search,
    project_word,
    split_words,
)
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Page
from answerback_storage import search
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import ANN, end_decision


def search_for(text: str = "", **more: object) -> Search:
    return Search(split_words(text), **more)  # type: ignore[arg-type]  # fields of a search


def one_question(text: str, context: str | None = None) -> Form:
    """Return a form whose only option is written with accents."""
    options = (Option(value="a", label="Ünïted States", description="the größte one"),)
    question = Question(
        id="q",
        text=text,
        context=context,
        answer_type=AnswerType.SELECT,
        options=options,
        other=True,
    )
    return Form(questions=(question,))


def act_decision(action: object, by: Person = ANN) -> Callable[[Ask | None], Decision[None]]:
    """Return a decision that ends the ask by a person's action."""

    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        change = asks.apply_action(ask, action, at=2_000.0, by=by)  # type: ignore[arg-type]  # an action
        assert isinstance(change, asks.Change)
        assert not change.ask.open
        return Decision(Write(change.ask, change.entries), None)

    return decide


async def find_all_ids(store: Store, wanted: Search) -> list[str]:
    """Return the ids of all asks that a search finds, reading pages of two."""
    ids: list[str] = []
    after: str | None = None
    while True:
        page = await store.search.find(wanted, after, 2)
        ids += [ask.id for ask in page.rows]
        after = page.after
        if after is None:
            return ids


class SearchContract:
    """Search, and the inbox of one person."""

    async def test_asks_are_found_by_the_words_of_their_questions(self, store: Store) -> None:
        texts = {1: "Apply the migration?", 2: "Which environment?", 3: "Apply it to 生产?"}
        for number, text in texts.items():
            form = one_question(
                text, "Straße und 2² Cafés: `users.e_mail`" if number == 2 else None
            )
            await store.asks.create(Write(new_ask(number, form=form)), None)
        for text, numbers in {
            "": [3, 2, 1],
            "apply": [3, 1],
            "APPLY the Migration": [1],
            "appl": [3, 1],
            "pply": [],
            "migration environment": [],
            "strasse cafe mail": [2],
            "22": [2],
            "生": [3],
            "产 生": [3],
            "united states": [3, 2, 1],
            "größte": [3, 2, 1],
            "by": [],
        }.items():
            assert await find_all_ids(store, search_for(text)) == [f"ask_{n}" for n in numbers], (
                text
            )

    @pytest.mark.rule("DATA-8")
    @pytest.mark.parametrize("newest", [1, 3, 4, 1_000])
    async def test_pages_are_the_same_however_many_of_the_newest_are_searched_first(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, newest: int
    ) -> None:
        monkeypatch.setattr(search, "_NEWEST", newest)
        clock = (10.0, 20.0, 30.0, 40.0, 15.0, 25.0, 35.0)  # it was set back once
        for number, at in enumerate(clock, 1):
            word = "rare" if number in {2, 6} else "common"
            form = one_question(f"A {word} question?")
            await store.asks.create(Write(new_ask(number, form=form, at=at)), None)
        common = [f"ask_{n}" for n in (7, 5, 4, 3, 1)]
        assert await find_all_ids(store, search_for("common")) == common
        assert await find_all_ids(store, search_for("rare")) == ["ask_6", "ask_2"]
        assert await find_all_ids(store, search_for("none")) == []
        for since, until, numbers in (
            (15.0, 30.0, (6, 2, 5)),
            (None, 36.0, (7, 3, 6, 2, 5, 1)),
            (20.0, None, (4, 7, 3, 6, 2)),
            (None, 15.0, (1,)),
            (36.0, None, (4,)),
            (20.0, 20.0, ()),
        ):
            dated = Search(since=since, until=until)
            assert await find_all_ids(store, dated) == [f"ask_{n}" for n in numbers]

    async def test_what_parts_words_in_any_script_prevents_no_match(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(form=one_question("ジョン・スミス ᦅᦱᧃ"))), None)
        for text in ("ジョン・スミス", "ン・", "ᦅᦱᧃ"):
            assert await find_all_ids(store, search_for(text)) == ["ask_1"], text

    @pytest.mark.rule("DATA-12")
    async def test_an_ask_with_more_words_than_an_index_takes_ends_and_is_found(
        self, store: Store
    ) -> None:
        many = " ".join(f"{number:x}".rjust(MAX_WORD_LENGTH, "w") for number in range(9_000))
        assert len(many) > MAX_WORD_BYTES
        await store.asks.create(Write(new_ask(form=one_question(many))), None)
        await store.asks.change("ask_1", act_decision(Reply(text=many.replace("w", "z"))))
        for letter in "wz":
            first, *_, last = many.replace("w", letter).split()
            assert await find_all_ids(store, search_for(first)) == ["ask_1"]
            assert await find_all_ids(store, search_for(last)) == []
        assert await find_all_ids(store, Search(by=((ANN,),))) == ["ask_1"]

    async def test_open_asks_are_left_out_of_a_search_for_ended_ones(self, store: Store) -> None:
        for number in (1, 2):
            await store.asks.create(Write(new_ask(number)), None)
        await store.asks.change("ask_1", act_decision(Reply(text="no")))
        assert await find_all_ids(store, Search(ended=True)) == ["ask_1"]
        assert await find_all_ids(store, Search()) == ["ask_2", "ask_1"]

    async def test_query_syntax_is_searched_as_text(self, store: Store) -> None:
        form = one_question("not near and or \x00 '\"(a:b)* -x")
        await store.asks.create(Write(new_ask(form=form)), None)
        for text in ("NOT", "near", "AND or", "'\"(a:b)*", "-x", "a\x00b"):
            assert await find_all_ids(store, search_for(text)) == ["ask_1"], text
        assert await find_all_ids(store, search_for("NOT apply")) == []

    async def test_an_ended_ask_is_found_by_its_answers_and_who_gave_them(
        self, store: Store
    ) -> None:
        ben = Person(surface="slack", user_id="U2", name="Ben")
        for number in range(1, 4):
            await store.asks.create(Write(new_ask(number, form=one_question("Which one?"))), None)
        await store.asks.change("ask_1", act_decision(Other(text="Atlantis")))
        await store.asks.change("ask_2", act_decision(Reply(text="None of them, never"), ben))
        assert await find_all_ids(store, search_for("which atlantis")) == ["ask_1"]
        assert await find_all_ids(store, search_for("never none")) == ["ask_2"]
        assert await find_all_ids(store, search_for("ben")) == ["ask_2"]
        assert await find_all_ids(store, Search(by=((ANN,),))) == ["ask_1"]
        assert await find_all_ids(store, Search(by=((ben,),))) == ["ask_2"]
        assert await find_all_ids(store, Search(by=((replace(ben, user_id="U"),),))) == []

    @pytest.mark.rule("CONFIRM-12")
    async def test_an_answer_that_nobody_confirmed_finds_no_ask(self, store: Store) -> None:
        """Else its agent could find out what it is."""
        form = one_question("Which one?").model_copy(
            update={"confirmation": ConfirmationRule(due=1)}
        )
        answered = asks.apply_action(new_ask(form=form), Other(text="Atlantis"), at=1.0, by=ANN)
        assert isinstance(answered, asks.Change)
        await store.asks.create(Write(answered.ask), None)
        await store.asks.change("ask_1", act_decision(Object(text="Never")))
        assert await find_all_ids(store, search_for("which never")) == ["ask_1"]
        assert await find_all_ids(store, search_for("atlantis")) == []
        assert await find_all_ids(store, Search(by=((ANN,),))) == ["ask_1"]

    async def test_an_ask_is_found_by_whoever_only_submitted_its_answers(
        self, store: Store
    ) -> None:
        cleo = Person(surface="slack", user_id="U3", name="Cleo")
        asked = new_ask(form=one_question("Which one?"))
        walk = replace(asked.walk, submitted_by=cleo)
        await store.asks.create(Write(replace(asked, walk=walk)), None)
        await store.asks.change("ask_1", end_decision())
        assert await find_all_ids(store, Search(by=((cleo,),))) == ["ask_1"]
        assert await find_all_ids(store, search_for("cleo")) == ["ask_1"]

    async def test_an_ask_that_ends_before_it_is_stored_is_found(self, store: Store) -> None:
        decision = end_decision(Status.FAILED)(new_ask())
        assert decision.write is not None
        await store.asks.create(decision.write, None)
        assert await find_all_ids(store, search_for("migration", status=Status.FAILED)) == ["ask_1"]

    async def test_an_erased_ask_is_not_found_by_its_texts(self, store: Store) -> None:
        for number in (1, 2):
            await store.asks.create(Write(new_ask(number)), None)
            await store.asks.change(f"ask_{number}", act_decision(Reply(text="Never")))
        await store.erasure.erase("ask_1", 9_000.0, ())
        assert await find_all_ids(store, search_for("migration")) == ["ask_2"]
        assert await find_all_ids(store, search_for("never")) == ["ask_2"]
        assert await find_all_ids(store, Search(by=((ANN,),))) == ["ask_2"]

    async def test_a_search_is_narrowed_by_status_agent_and_time(self, store: Store) -> None:
        for number in range(1, 6):
            request = {"agent": "coder" if number % 2 else "other"}
            await store.asks.create(Write(new_ask(number, at=float(number), request=request)), None)
        await store.asks.change("ask_3", end_decision())
        assert await find_all_ids(store, search_for(agent="coder")) == ["ask_5", "ask_3", "ask_1"]
        assert await find_all_ids(store, search_for(status=Status.WITHDRAWN)) == ["ask_3"]
        assert await find_all_ids(store, search_for("why", since=2.0, until=4.0)) == [
            "ask_3",
            "ask_2",
        ]
        wanted = search_for("why", status=Status.OPEN, agent="coder", since=2.0)
        assert await find_all_ids(store, wanted) == ["ask_5"]

    async def test_the_search_index_survives_a_restart(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        await store.asks.create(Write(new_ask()), None)
        await store.close()
        again = make_store()
        await again.open()
        assert await find_all_ids(again, search_for("migration")) == ["ask_1"]
        await again.close()

    async def test_asks_waiting_for_a_person_are_listed_oldest_first(self, store: Store) -> None:
        responders = [("U1",), ("U2",), ("@S1",), (ANYONE,), ("U2", "U1"), ('U"1',), ("U1",)]
        for number, named in enumerate(responders, 1):
            await store.asks.create(Write(new_ask(number, responders=named)), None)
        elsewhere = Destination(surface="discord", channel="C1")
        await store.asks.create(Write(new_ask(8, responders=("U1",), to=elsewhere)), None)
        await store.asks.change("ask_7", end_decision())

        async def waiting(user_id: str, limit: int) -> list[str]:
            ids: list[str] = []
            after: str | None = None
            while True:
                page = await store.search.list_for_responder([("slack", user_id)], after, limit)
                assert len(page.rows) <= limit
                ids += [ask.id for ask in page.rows]
                after = page.after
                if after is None:
                    return ids

        for limit in (1, 2, 4, 10):
            assert await waiting("U1", limit) == ["ask_1", "ask_3", "ask_4", "ask_5"]
            assert await waiting('U"1', limit) == ["ask_3", "ask_4", "ask_6"]
        both = [("slack", "U1"), ("discord", "U1")]
        pages = [await store.search.list_for_responder(both, None, 3)]
        pages.append(await store.search.list_for_responder(both, pages[0].after, 3))
        ids = [ask.id for page in pages for ask in page.rows]
        assert ids == ["ask_1", "ask_3", "ask_4", "ask_5", "ask_8"]

    @pytest.mark.rule("URGENCY-3")
    async def test_what_is_more_urgent_is_listed_first_and_then_what_waits_longest(
        self, store: Store
    ) -> None:
        urgencies = ("normal", "low", "high", "normal", "high", "low")
        for number, urgency in enumerate(urgencies, 1):
            request = {"urgency": Urgency(urgency), "agent": "coder" if number % 2 else "other"}
            await store.asks.create(
                Write(new_ask(number, responders=("U1",), request=request)), None
            )
        await store.asks.change("ask_5", end_decision())
        expected = ["ask_3", "ask_1", "ask_4", "ask_2", "ask_6"]

        async def pages(read: Callable[[str | None, int], Awaitable[Page[Ask]]]) -> None:
            for limit in (1, 2, 3, 10):
                ids: list[str] = []
                after: str | None = None
                while True:
                    page = await read(after, limit)
                    ids += [ask.id for ask in page.rows]
                    after = page.after
                    if after is None:
                        break
                assert ids == expected, limit

        accounts = [("slack", "U1")]
        await pages(lambda after, limit: store.search.list_for_responder(accounts, after, limit))
        await pages(lambda after, limit: store.asks.page(by_urgency=True, after=after, limit=limit))
        own = await store.asks.page(by_urgency=True, agent="coder")
        assert [ask.id for ask in own.rows] == ["ask_3", "ask_1"]

    async def test_a_person_named_only_in_stored_texts_is_not_a_responder(
        self, store: Store
    ) -> None:
        message: dict[str, JsonValue] = {"by": "U9", "to": "@S1", "who": "anyone"}
        for number in (1, 2):
            left = asks.AbandonedMessage(destination=Destination(surface="slack"), message=message)
            await store.asks.create(
                Write(new_ask(number, responders=("U1",), old_message=left)), None
            )
        assert (await store.search.list_for_responder([("slack", "U9")], None, 1)).rows == ()

    @pytest.mark.rule("CONFIRM-15")
    async def test_who_may_confirm_from_another_surface_finds_it_there(self, store: Store) -> None:
        elsewhere = ("web:ann", "mail:U1")
        ask = new_ask(1, responders=("U1",), confirmers_elsewhere=elsewhere)
        await store.asks.create(Write(ask), None)
        for account, found in (
            (("web", "ann"), 1),
            (("mail", "U1"), 1),
            (("slack", "ann"), 0),
            (("web", "an"), 0),
            (("web", "U1"), 0),
        ):
            page = await store.search.list_for_responder([("slack", "U8"), account], None, 10)
            assert len(page.rows) == found, account

    @pytest.mark.parametrize("cursor", ["", "x", "YXNrczox"])
    async def test_an_invented_cursor_of_a_search_or_inbox_is_rejected(
        self, store: Store, cursor: str
    ) -> None:
        with pytest.raises(ValueError, match="There is no page behind"):
            await store.search.find(Search(), cursor, 10)
        with pytest.raises(ValueError, match="There is no page behind"):
            await store.search.list_for_responder([("slack", "U1")], cursor, 10)
        with pytest.raises(ValueError, match="There is no page behind"):
            await store.asks.page(by_urgency=True, after=cursor)

    @pytest.mark.rule("API-17")
    async def test_an_ask_is_found_by_its_whole_project_open_or_ended(self, store: Store) -> None:
        for number, project in enumerate(("app", "app", "application", None), 1):
            origin = {"origin": Origin(project=project)}
            await store.asks.create(Write(new_ask(number, request=origin)), None)
        await store.asks.change("ask_2", end_decision())
        assert await find_all_ids(store, Search((project_word("app"),))) == ["ask_2", "ask_1"]

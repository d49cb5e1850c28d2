"""Changes after a receipt was made: the stored ask still is what was signed, whoever signs what follows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer, GrantTerms
from answerback.core.ask import Ask, Change, Status, apply_action
from answerback.core.form import AnswerType, Form, Question
from answerback.core.granting import RevokeGrant
from answerback.core.person import Person
from answerback.core.too_late import TryAgain
from answerback.ports.claims import Claim
from answerback.ports.receipt_key import SigningKey, new_private_key
from answerback.ports.store import Store
from answerback.ports.surface import Acted
from answerback.service.consumption import consume, is_allowed
from answerback.service.submission_request import Agent, Route, Routes, Submission
from answerback_receipts.checks import check, check_store
from answerback_receipts.stored_receipts import StoredReceipts
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.example_asks import new_ask
from tests.service_support import actor
from tests.unit.bot.receipt_support import APPROVAL, Signed


@pytest.mark.rule("RCPT-1", "RCPT-8")
async def test_a_store_is_whole_after_consuming_trying_again_and_revoking(store: Store) -> None:
    table = {"to": "chat:C1", "responders": ["U1"], "grants": {}}
    signed = Signed(store, routes=Routes(by_name={"ops": Route.model_validate(table)}))
    call: dict[str, Any] = {**APPROVAL, "to": "ops", "origin": {"folder": "/srv/app"}}
    del call["responders"]
    submission = Submission.model_validate(call)
    made, late = [
        (await signed.service.submit(submission, agent=Agent(name="ci"))).ask for _ in range(2)
    ]
    await signed.service.approval_leases.report_no_answer(late.id)
    terms = GrantTerms(match="command", minutes=15, uses=2)
    granted = await signed.service.act(made.id, Answer(value="allow", grant=terms), actor("U1"))
    assert isinstance(granted, Acted), granted
    used = (await signed.service.submit(submission, agent=Agent(name="ci"))).ask
    assert used.grant is not None
    await signed.linker.link_all()
    receipts = [await signed.receipt(ask) for ask in (made, late, used)]
    assert isinstance(await consume(store, made.id, 5.0), Ask)
    for ask, action in ((late, TryAgain(text="go")), (used, RevokeGrant())):
        done = await signed.service.act(ask.id, action, actor("U1"))
        assert isinstance(done, Acted), done
    assert [await signed.receipt(ask) for ask in (made, late, used)] == receipts
    verdict = await check_store(store, signed.keys)
    assert (verdict.fault, verdict.lines, verdict.unlinked) == (None, 3, 0)


@pytest.mark.rule("RCPT-7")
async def test_no_receipt_shows_a_consumption_so_a_restored_store_consumes_again(
    store: Store, tmp_path: Path
) -> None:
    signed = Signed(store)
    ask = await signed.decided()
    await signed.linker.link_all()
    kept = await signed.receipt(ask)
    assert isinstance(store, SqliteStore)
    await store.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "backup.db")
    for file in ("a.db", "backup.db"):
        restored = SqliteStore(tmp_path / file)
        await restored.open()
        assert (await check_store(restored, signed.keys, kept)).fault is None
        assert isinstance(await consume(restored, ask.id, 5.0), Ask)
        await restored.close()
    assert any("only once" in line for line in check(kept, signed.keys).does_not_prove)


@pytest.mark.rule("RCPT-2", "RCPT-4")
async def test_a_process_that_still_has_the_old_key_adds_to_the_same_chain(store: Store) -> None:
    old, new = (
        Signed(store, Claim(name, 60.0), SigningKey(new_private_key())) for name in ("old", "new")
    )
    assert await StoredReceipts(store.rows).use_key(old.key.public.x, [], 1.0)
    before = await old.decided()
    await old.linker.link_all()
    assert await StoredReceipts(store.rows).use_key(new.key.public.x, [old.key.public.x], 2.0)
    by_old, by_new = await old.decided(), await new.decided()
    await store.leases.release("receipts", "old")
    await new.linker.link_all()
    kids = [
        (body["receipt"]["kid"], body["link"] and body["link"]["kid"])
        for body in [await old.receipt(ask) for ask in (before, by_old, by_new)]
    ]
    first, second = old.key.kid, new.key.kid
    assert kids == [(first, first), (first, second), (second, second)]
    verdict = await check_store(store, {**old.keys, **new.keys})
    assert (verdict.fault, verdict.lines) == (None, 3)
    assert "not among the keys given" in str((await check_store(store, old.keys)).fault)


@pytest.mark.rule("RCPT-7")
def test_an_approval_without_a_choice_allows_nothing() -> None:
    form = Form(questions=(Question(id="why", text="Why?", answer_type=AnswerType.TEXT),))
    by = Person(surface="chat", user_id="U1")
    ask = new_ask(form=form, request={"dialect": "approval"})
    answered = apply_action(ask, Answer(value="because"), at=1_001.0, by=by)
    assert isinstance(answered, Change)
    assert answered.ask.status is Status.ANSWERED
    assert not is_allowed(answered.ask)

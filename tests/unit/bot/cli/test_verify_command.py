"""The commands about receipts, run in this process: `verify` and `receipts`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.receipt_key import SigningKey
from answerback.ports.store import Store
from answerback.service.consumption import consume
from answerback_agents.cli import main
from answerback_postgres.store import PostgresStore
from answerback_receipts.key_file import ReceiptKeyFile
from answerback_receipts.stored_receipts import StoredReceipts
from answerback_storage.sqlite.store import SqliteStore
from tests import postgres
from tests.unit.bot.receipt_support import Signed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", f"sqlite:///{tmp_path}/answerback.db")
    return tmp_path


def run(*arguments: str, text: bytes | None = None) -> tuple[int, str, str]:
    """Run a command; returns its exit status, standard output and standard error."""
    done = CliRunner().invoke(main.app, list(arguments), input=text, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


async def fill(store: Store, folder: Path, lines: int = 2) -> None:
    """Make receipts with the key beside the database, and save the last one and the public keys."""
    await store.open()
    keys = await asyncio.to_thread(ReceiptKeyFile(folder / "answerback.db").ensure)
    signed = Signed(store, key=SigningKey(keys[0]))
    await StoredReceipts(store.rows).use_key(
        signed.key.public.x, [SigningKey(k).public.x for k in keys[1:]], 1.0
    )
    *_, ask = [await signed.decided() for _ in range(lines)]
    await signed.linker.link_all()
    body, jwks = await signed.receipt(ask), {"keys": [signed.key.public.jwk()]}
    await store.close()
    for name, document in (("receipt", body), ("keys", jwks)):
        await asyncio.to_thread((folder / f"{name}.json").write_text, json.dumps(document))


@pytest.fixture
def filled(folder: Path) -> Path:
    asyncio.run(fill(SqliteStore(folder / "answerback.db"), folder))
    return folder


@pytest.mark.rule("RCPT-9")
def test_a_receipt_is_explained_in_words(filled: Path) -> None:
    (filled / "answerback.db").unlink()
    (filled / "answerback.db.receipts").unlink()
    status, out, _ = run("verify", "receipt.json", "--keys", "keys.json")
    assert status == 0
    assert "The service svc_test was asked by an agent without a name" in out
    assert ': "Run make deploy"\n' in out
    assert 'The answer to "decision" is "allow", by U1 on chat, at 2027-01-15T08:00:00.000Z.' in out
    assert "It is line 2 of the service's chain." in out
    proves, _, does_not = out.partition("It does not prove:")
    assert "What was shown when it was decided (revision 1 on chat)" in proves
    assert "a chat platform, or a proxy that signs people in, said who they are" in does_not
    assert "only once" in does_not
    text = (filled / "receipt.json").read_bytes()
    assert run("verify", "-", "--keys", "keys.json", text=text)[:2] == (0, out)
    status, out, _ = run("verify", "receipt.json", "--keys", "keys.json", "--json")
    assert (status, json.loads(out)["store"]) == (0, None)
    assert json.loads(out)["receipt"]["faults"] == []


@pytest.mark.rule("RCPT-9")
def test_a_changed_receipt_proves_nothing(filled: Path) -> None:
    body: Any = json.loads((filled / "receipt.json").read_text())
    body["receipt"]["payload"]["answers"]["decision"] = "deny"
    (filled / "receipt.json").write_text(json.dumps(body))
    status, out, err = run("verify", "receipt.json")
    assert (status, out) == (1, "")
    assert "Its signature is wrong" in err
    assert "This receipt proves nothing." in err


@pytest.mark.rule("RCPT-9")
def test_what_cannot_be_checked_is_said(filled: Path) -> None:
    for arguments, expected in (
        ((), "Name a file with a receipt"),
        (("nothing.json",), "nothing.json cannot be read"),
        (("keys.json",), "is not a receipt"),
        (("receipt.json", "--keys", "receipt.json"), "holds no Ed25519 keys"),
        (("receipt.json", "--keys", "answerback.db"), "holds no Ed25519 keys"),
    ):
        status, _, err = run("verify", *arguments)
        assert (status, expected in err) == (2, True), (arguments, err)
    (filled / "keys.json").write_text(
        '{"keys": [{"kty": "RSA"}, {"kty": "OKP", "crv": "Ed25519"}]}'
    )
    assert "holds no Ed25519 keys" in run("verify", "receipt.json", "--keys", "keys.json")[2]
    (filled / "answerback.db.receipts").unlink()
    status, _, err = run("verify", "receipt.json")
    assert (status, "There are no keys here" in err) == (2, True)


@pytest.mark.rule("RCPT-8")
def test_the_chain_of_the_database_is_checked(filled: Path) -> None:
    status, _, err = run("verify", "--store")
    assert (status, "The chain of receipts is whole: 2 lines." in err) == (0, True)
    assert "Its end is sha256:" in err
    status, out, _ = run("verify", "receipt.json", "--store", "--json")
    assert (status, json.loads(out)["store"]["lines"]) == (0, 2)
    asyncio.run(fill(SqliteStore(filled / "answerback.db"), filled, 1))
    with closing(sqlite3.connect(filled / "answerback.db", isolation_level=None)) as db:
        db.execute("UPDATE receipts SET n = NULL, link = NULL WHERE n = 3")
    status, _, err = run("verify", "--store")
    assert (status, "2 lines; 1 more is about to be added" in err) == (0, True)
    status, out, err = run("verify", "receipt.json", "--store")
    assert (status, "restored from an older backup" in err) == (1, True)
    assert "This receipt proves:" in out
    with closing(sqlite3.connect(filled / "answerback.db", isolation_level=None)) as db:
        db.execute("DELETE FROM receipts WHERE n = 1")
    status, _, err = run("verify", "--store", "--keys", "keys.json")
    assert (status, "Line 1 is missing: line 2 comes after line 0." in err) == (1, True)


EDITED = {
    "asks.agent": "UPDATE asks SET agent = 'mallory' WHERE seq = 1",
    "asks.status": "UPDATE asks SET status = 'open' WHERE seq = 1",
    "asks.conversation": "UPDATE asks SET conversation = 'c2' WHERE seq = 1",
    "asks.channel": "UPDATE asks SET channel = 'C2' WHERE seq = 1",
    "asks.surface": "UPDATE asks SET surface = 'web' WHERE seq = 1",
    "owed.agent": "UPDATE owed SET agent = 'mallory' WHERE ask_id = (SELECT id FROM asks WHERE seq = 1)",
    "deliveries.agent": """INSERT INTO deliveries
        (id, ask_id, type, url, agent, body, created_at, state, tries, updated_at)
        SELECT 'm', id, 'ask.answered', 'u', 'mallory', '{}', 1.0, 'pending', 0, 1.0 FROM asks WHERE seq = 1""",
}  # fmt: skip


@pytest.mark.rule("RCPT-8")
@pytest.mark.parametrize("column", EDITED)
def test_an_edited_column_that_decides_who_reads_is_found(filled: Path, column: str) -> None:
    assert run("verify", "--store")[0] == 0
    with closing(sqlite3.connect(filled / "answerback.db", isolation_level=None)) as db:
        assert db.execute(EDITED[column]).rowcount == 1
    status, _, err = run("verify", "--store")
    assert (status, column in err) == (1, True), err
    assert "Line 1 (ask_" in err


@pytest.mark.rule("RCPT-8")
def test_an_approval_that_is_made_consumable_again_is_found(filled: Path) -> None:
    async def consume_first() -> None:
        store = SqliteStore(filled / "answerback.db")
        await store.open()
        [first, *_] = await StoredReceipts(store.rows).list_linked(0, 1)
        assert isinstance(await consume(store, first.ask_id, 9.0), Ask)
        await store.close()

    asyncio.run(consume_first())
    assert run("verify", "--store")[0] == 0
    with closing(sqlite3.connect(filled / "answerback.db", isolation_level=None)) as db:
        removed = "UPDATE asks SET state = json_remove(state, '$.consumed_at') WHERE seq = 1"
        assert db.execute(removed).rowcount == 1
    status, _, err = run("verify", "--store")
    assert (status, "could be consumed again" in err) == (1, True), err


def test_an_empty_database_has_an_empty_chain(folder: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        run("verify", "--store")
    asyncio.run(_make(folder))
    status, _, err = run("verify", "--store")
    assert (status, "The chain of receipts is whole: 0 lines.") == (0, err.strip())


async def _make(folder: Path) -> None:
    store = SqliteStore(folder / "answerback.db")
    await store.open()
    await store.close()


@pytest.mark.rule("RCPT-8")
def test_the_chain_of_a_postgresql_database_is_checked(
    folder: Path, postgres_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server.database() as name:
        monkeypatch.setenv("ANSWERBACK_STORAGE__URL", postgres_server.url(name))
        asyncio.run(fill(PostgresStore(postgres_server.url(name)), folder))
        status, _, err = run("verify", "receipt.json", "--store", "--keys", "keys.json")
        assert (status, "The chain of receipts is whole: 2 lines." in err) == (0, True)
        postgres_server.run("UPDATE asks SET agent = 'mallory', status = 'open'", name)
        status, _, err = run("verify", "--store", "--keys", "keys.json")
        assert (status, "asks.status, asks.agent" in err) == (1, True)


@pytest.mark.rule("CLI-30")
def test_a_key_is_rotated(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ReceiptKeyFile(filled / "answerback.db")
    [old] = file.read()
    status, out, err = run("receipts", "rotate")
    new, former = file.read()
    assert (status, out.strip(), former) == (0, SigningKey(new).kid, old)
    assert "Restart the service" in err
    asyncio.run(fill(SqliteStore(filled / "answerback.db"), filled, 1))
    assert run("verify", "--store")[0] == 0, "the database has both keys"
    assert run("verify", "receipt.json")[0] == 0
    monkeypatch.setenv("ANSWERBACK_RECEIPTS__KEY", old)
    status, out, err = run("receipts", "rotate")
    newest, _, former = out.strip().partition(",")
    assert (status, former, SigningKey(newest).kid != SigningKey(old).kid) == (0, old, True)
    assert "Set `receipts.key` to this" in err
    assert file.read() == [new, old]
    monkeypatch.setenv("ANSWERBACK_RECEIPTS__KEY", out.strip())
    assert run("receipts", "rotate")[1].strip().split(",")[1:] == [newest, old]


@pytest.mark.rule("CLI-30")
def test_a_lost_key_is_replaced(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ReceiptKeyFile(filled / "answerback.db")
    [old] = file.read()
    file.path.unlink()
    status, _, err = run("receipts", "rotate")
    assert (status, "There is no key at" in err) == (1, True)
    status, out, _ = run("receipts", "rotate", "--lost")
    assert (status, out.strip()) == (0, SigningKey(file.read()[0]).kid)
    monkeypatch.setenv("ANSWERBACK_RECEIPTS__KEY", old)
    status, _, err = run("receipts", "rotate", "--lost")
    assert (status, "one that was replaced" in err) == (1, True)

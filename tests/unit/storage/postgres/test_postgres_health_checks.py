"""`answerback doctor` on a PostgreSQL database: each finding says what to do, and nothing is changed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from answerback.ports.plugin import Finding
from answerback_postgres import health_checks, listen_notify, migrations
from answerback_postgres.connections import MAX_CONNECTIONS, Connection
from answerback_postgres.store import PostgresStore
from tests import postgres
from tests.pooler import pooler, program
from tests.ports import free_port


@pytest.fixture
async def url(postgres_server: postgres.Server) -> AsyncIterator[str]:
    """A database that Answerback has used, and that the test may break."""
    with postgres_server.database() as name:
        store = PostgresStore(address := postgres_server.url(name))
        await store.open()
        await store.close()
        yield address


@pytest.fixture
def run(url: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def role(run: psycopg.Connection) -> Iterator[str]:
    """A role without any privilege."""
    name = f"role_{time.monotonic_ns()}"
    run.execute(f"CREATE ROLE {name} LOGIN")
    yield name
    run.execute(f"DROP OWNED BY {name}")
    run.execute(f"DROP ROLE {name}")


def as_role(url: str, role: str) -> str:
    return url.replace(f"//{postgres.USER}@", f"//{role}@")


async def found(url: str, listen_url: str | None = None) -> dict[str, Finding]:
    """Return the findings by their first words."""
    findings = [finding async for finding in health_checks.findings(url, listen_url)]
    return {finding.what.partition(" ")[0].rstrip(":"): finding for finding in findings}


@pytest.mark.rule("CLI-22")
async def test_a_healthy_database_lists_all_checks(url: str) -> None:
    findings = await found(url)
    assert all(finding.wrong is None for finding in findings.values()), findings
    assert list(findings) == [
        "database",
        "rights",
        "clock",
        "connections",
        "pooler",
        "notifications",
    ]
    assert ", PostgreSQL " in findings["database"].what


@pytest.mark.rule("CLI-22")
async def test_nothing_is_created_or_upgraded(
    postgres_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server.database() as name:
        url = postgres_server.url(name)
        findings = await found(url)
        assert "its tables to be created by `answerback serve`" in findings["database"].what
        assert all(finding.wrong is None for finding in findings.values()), findings
        assert (
            postgres_server.run("SELECT 1 FROM pg_tables WHERE schemaname = 'public'", name) == []
        )
        with monkeypatch.context() as older:
            older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
            store = PostgresStore(url)
            await store.open()
            await store.close()
        findings = await found(url)
        assert "to be upgraded by `answerback serve` (erasing, " in findings["database"].what
        assert len(postgres_server.run("SELECT 1 FROM answerback_migrations", name)) == 1


@pytest.mark.rule("CLI-22")
async def test_a_newer_schema_or_an_unreachable_server_ends_the_checks(
    url: str, run: psycopg.Connection
) -> None:
    run.execute("INSERT INTO answerback_migrations VALUES ('from_the_future', now())")
    findings = await found(url)
    assert "newer Answerback" in (findings["database"].wrong or "")
    assert list(findings) == ["database"]
    findings = await found(f"postgresql://{postgres.USER}@127.0.0.1:{free_port()}/asks")
    assert "cannot be reached" in (findings["database"].wrong or "")


@pytest.mark.rule("CLI-22")
async def test_missing_privileges_are_named_with_the_command_to_run(
    url: str, run: psycopg.Connection, role: str
) -> None:
    async def message() -> str:
        right = (await found(as_role(url, role)))["rights"]
        return f"{right.wrong} {right.fix}"

    tables = "it may not read, write and delete rows in account_links, agent_tokens, answerback_migrations and "
    finding = (await found(as_role(url, role)))["database"]
    assert "lacks a privilege" in (finding.wrong or ""), (
        "it may not even read which migrations there are"
    )
    run.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    assert tables in await message()
    assert f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}" in await message()
    run.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    run.execute(f"REVOKE INSERT ON seen FROM {role}")
    assert "delete rows in seen Run" in await message()
    run.execute(f"GRANT ALL ON seen TO {role}")
    assert f"`GRANT ALL ON SCHEMA public TO {role}`" in await message()
    run.execute(f"GRANT ALL ON SCHEMA public TO {role}")
    assert "an upgrade could not change them Run `REASSIGN OWNED BY answerback" in await message()
    run.execute(f"GRANT {postgres.USER} TO {role}")
    assert await message() == "None "
    run.execute(f"ALTER ROLE {role} SET default_transaction_read_only = on")
    assert "Name the primary server" in await message()
    run.execute(f"ALTER ROLE {role} RESET default_transaction_read_only")
    run.execute(f"ALTER ROLE {role} SET search_path = gone")
    assert f"CREATE SCHEMA AUTHORIZATION {role}" in await message()


@pytest.mark.rule("CLI-22")
@pytest.mark.parametrize(("off", "text"), [(61.0, "61 s ahead of"), (-61.0, "61 s behind")])
async def test_a_clock_difference_is_only_a_warning(
    url: str, monkeypatch: pytest.MonkeyPatch, off: float, text: str
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + off)
    clock = (await found(url))["clock"]
    assert clock.wrong == f"this machine's is {text} the database's"
    assert "NTP" in clock.fix
    assert clock.warning


@pytest.mark.rule("CLI-22")
async def test_too_few_free_connections_are_reported(
    url: str, run: psycopg.Connection, role: str
) -> None:
    run.execute(f"GRANT {postgres.USER} TO {role}")
    needed = MAX_CONNECTIONS + 1
    run.execute(f"ALTER ROLE {role} CONNECTION LIMIT {needed}")
    assert (await found(as_role(url, role)))["connections"].wrong is None
    run.execute(f"ALTER ROLE {role} CONNECTION LIMIT {needed - 1}")
    finding = (await found(as_role(url, role)))["connections"]
    assert finding.wrong == f"{needed - 1} more can be opened, but each replica uses up to {needed}"
    assert "Raise `max_connections`" in finding.fix


@pytest.mark.rule("CLI-22")
async def test_a_pooler_is_detected_and_the_required_setting_is_named(
    url: str, postgres_server: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program() is None:
        pytest.skip("pgbouncer is missing: run .ci/system-packages, which installs it")
    name = url.rpartition("/")[2]
    with pooler(postgres_server, name) as pooling:
        pooled = postgres_server.url(name, port=pooling.port)
        with monkeypatch.context() as impatient:
            impatient.setattr(listen_notify, "NOTIFICATION_TIMEOUT", 0.3)
            findings, elsewhere = await found(pooled), await found(pooled, pooled)
        assert findings["pooler"].wrong == "there is one, but `storage.listen_url` is not set"
        assert "address of the server itself" in findings["pooler"].fix
        assert "notifications do not arrive" in (findings["notifications"].wrong or "")
        findings = await found(pooled, url)
        assert (
            findings["pooler"].what == "pooler: statements go through one, and notifications do not"
        )
        assert findings["notifications"].wrong is None
        assert "at `storage.listen_url` too" in (elsewhere["pooler"].wrong or "")
        assert "notifications do not arrive" in (elsewhere["notifications"].wrong or "")
    with pooler(postgres_server, name, mode="session") as pooling:
        findings = await found(postgres_server.url(name, port=pooling.port))
        assert findings["pooler"].is_ok
        assert findings["notifications"].wrong is None
    findings = await found(url, url)
    assert findings["pooler"].fix == "Remove `storage.listen_url`."
    assert findings["pooler"].is_ok


@pytest.mark.rule("CLI-22")
async def test_a_server_that_goes_away_during_the_checks_is_named(
    url: str, run: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    real = health_checks._clock

    async def cut(connection: Connection) -> Finding:
        run.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM {others}".encode())
        return await real(connection)

    monkeypatch.setattr(health_checks, "_clock", cut)
    findings = await found(url)
    assert list(findings) == ["database", "rights"]
    assert "no restart is needed here" in (findings["database"].wrong or "")

"""The work of ``answerback copy``: copies a database to another one."""

from __future__ import annotations

from pydantic import ValidationError

from answerback.cli.output import fail, print_result, say
from answerback.ports.install_extras import POSTGRES, missing_extra_message
from answerback.presentation.sanitize import as_json
from answerback.runtime.config import StorageSettings
from answerback_storage.copy import CopyEndpoint, copy
from answerback_storage.sqlite.copy import SqliteCopyEndpoint


def run(source: str, target: str, *, json_output: bool) -> None:
    """Copy, and print the number of rows in each table."""
    old, new = _storage("--from", source), _storage("--to", target)
    if old.name == new.name:
        fail("--from and --to are the same database. Name another one with --to.")
    if not old.uses_postgres and not old.sqlite_path.exists():
        fail(f"The database {old.name} does not exist. Name the one to copy with --from.")
    copied = copy(_endpoint(old), _endpoint(new))
    if json_output:
        print_result(as_json({table: {**digest._asdict()} for table, digest in copied.items()}))
        return
    for table, digest in copied.items():
        say(f"{table}: {digest.rows} rows, digest {digest.digest[:16]}")
    say(
        f"Everything in {old.name} was copied to {new.name}. Set `storage.url` to the new database."
    )
    say(
        "The person's key is not part of a database. Keep its file, or print the new key with `answerback key`."
    )


def _storage(option: str, url: str) -> StorageSettings:
    try:
        storage = StorageSettings(url=url)
    except ValidationError as error:
        fail(f"{option}: {error.errors()[0]['msg'].removeprefix('Value error, ')}.")
    sentence = (
        missing_extra_message(*POSTGRES, f"{option} {storage.name}")
        if storage.uses_postgres
        else None
    )
    if sentence is not None:
        fail(sentence)
    return storage


def _endpoint(storage: StorageSettings) -> CopyEndpoint:
    if not storage.uses_postgres:
        return SqliteCopyEndpoint(storage.sqlite_path)
    from answerback_storage.postgres.copy import PostgresCopyEndpoint

    return PostgresCopyEndpoint(storage.url)

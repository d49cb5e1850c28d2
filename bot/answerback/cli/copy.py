"""``answerback copy``: everything of one database into another."""

from __future__ import annotations

from pydantic import ValidationError

from answerback.cli.output import fail, print_result, say
from answerback.ports.install_extras import POSTGRES, missing_extra_message
from answerback.runtime.config import StorageSettings
from answerback_chat.sanitize import as_json
from answerback_storage.copy import CopyEndpoint, copy
from answerback_storage.sqlite.copy import SqliteCopyEndpoint


def run(source: str, target: str, *, json_output: bool) -> None:
    """Copies, and prints how many rows of each table there are now."""
    old, new = _storage("--from", source), _storage("--to", target)
    if old.name == new.name:
        fail("--from and --to are the same database. Name another with --to.")
    if not old.uses_postgres and not old.sqlite_path.exists():
        fail(f"There is no database {old.name}. Name the one to be copied with --from.")
    copied = copy(_place(old), _place(new))
    if json_output:
        print_result(as_json({table: {**found._asdict()} for table, found in copied.items()}))
        return
    for table, found in copied.items():
        say(f"{table}: {found.rows} rows, digest {found.digest[:16]}")
    say(f"Everything of {old.name} is in {new.name}. Set `storage.url` to it.")
    say(
        "The person's key is not in a database: keep its file, or look for the new one with `answerback key`."
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


def _place(storage: StorageSettings) -> CopyEndpoint:
    if not storage.uses_postgres:
        return SqliteCopyEndpoint(storage.sqlite_path)
    from answerback_storage.postgres.copy import PostgresCopyEndpoint

    return PostgresCopyEndpoint(storage.url)

"""``answerback copy``: copies a database to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from answerback_agents.cli.options import Json
from answerback_agents.cli.output import counted, fail, print_json, say
from answerback_base.install_extras import missing_extra_message

if TYPE_CHECKING:
    from answerback.runtime.config import StorageSettings


def command(
    source: Annotated[
        str, typer.Option("--from", help="The URL of the database to copy, as in `storage.url`.")
    ],
    target: Annotated[
        str, typer.Option("--to", help="The URL of an empty database, as in `storage.url`.")
    ],
    json: Json = False,
) -> None:
    """Copy a database to another one: SQLite to PostgreSQL, or back.

    Example: `answerback copy --from sqlite:///answerback.db --to postgresql://answerback@db/answerback`

    Stop the service first, as anything stored meanwhile is not copied. The copy is read back and compared before it
    is committed. A target that is not empty is left unchanged.
    """
    import asyncio

    from answerback.runtime.open_store import check_schema
    from answerback_storage.store_copy import copy

    old, new = _storage("--from", source), _storage("--to", target)
    files = [each.plugin.file(each.url) for each in (old, new)]
    is_same_file = all(files) and len({file.resolve() for file in files if file}) == 1
    if old.name == new.name or is_same_file:
        fail("--from and --to are the same database. Name another one with --to.")
    asyncio.run(check_schema(old, "Name the one to copy with --from."))
    copied = copy(old.plugin.copy_endpoint(old.url), new.plugin.copy_endpoint(new.url))
    if json:
        print_json({table: digest._asdict() for table, digest in copied.items()})
        return
    for table, digest in copied.items():
        say(f"{table}: {counted(digest.rows, 'row')}, digest {digest.digest[:16]}")
    say(
        f"Everything in {old.name} was copied to {new.name}. Set `storage.url` to the new database."
    )
    beside, to = (str(each.file) for each in (old, new))
    what = "Keep" if beside == to else f"Give {to} its own copies of"
    say(
        "The person's key, the key that signs receipts and the personal links are not part of a database, but in files "
        f"whose names begin with its file's. {what} {beside}.key, {beside}.receipts and {beside}.people."
    )


def _storage(option: str, url: str) -> StorageSettings:
    from pydantic import ValidationError

    from answerback.runtime.config import StorageSettings

    try:
        storage = StorageSettings(url=url)
    except ValidationError as error:
        fail(f"{option}: {error.errors()[0]['msg'].removeprefix('Value error, ')}.")
    needed_by = f"{option} {storage.name}"
    if missing := missing_extra_message(*storage.plugin.extra, needed_by):
        fail(missing)
    return storage

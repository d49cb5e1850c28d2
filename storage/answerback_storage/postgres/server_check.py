"""Whether a PostgreSQL server can hold the database: its version, encoding and durability."""

from __future__ import annotations

from typing import Final

from answerback.core.errors import StoreError
from answerback_storage.postgres.connections import Connection

MIN_VERSION: Final = 14
"""The oldest PostgreSQL that is still maintained: https://www.postgresql.org/support/versioning/"""


async def check_server(connection: Connection, name: str) -> None:
    """Check the server.

    Raises:
        StoreError: it cannot be used. The message says why.
    """
    version = connection.info.server_version // 10_000
    if version < MIN_VERSION:
        raise StoreError(
            f"The database {name} runs on PostgreSQL {version}, but Answerback needs {MIN_VERSION} or newer. Upgrade"
            " the server, or name another in `storage.url`."
        )
    found = await connection.execute(
        "SELECT current_setting('server_encoding'), current_setting('synchronous_commit')"
    )
    encoding, durable = await found.fetchone() or ("", "")
    if encoding != "UTF8":
        raise StoreError(
            f"The database {name} has the encoding {encoding}, which cannot store all text. Create a database with"
            " `createdb --encoding=UTF8 --template=template0 NAME`, and name that in `storage.url`."
        )
    if durable == "off":
        raise StoreError(
            f"The database {name} confirms commits before they are on disk (`synchronous_commit` is off), so a"
            " power failure would lose answers that were confirmed to people. Run `ALTER ROLE … SET"
            " synchronous_commit = on` for the role in `storage.url`."
        )

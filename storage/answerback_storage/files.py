"""Files that agents and people send, in a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pydantic import TypeAdapter

from answerback.core.files import MAX_FILE, AttachedFile
from answerback.ports.files import CHUNK, FileStore, StoredFile
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase, placeholders

COLUMNS: Final = ("id", "agent", "ask_id", "at", "value")
CHUNK_COLUMNS: Final = ("file_id", "n", "data")
ERASE: Final = "DELETE FROM files WHERE ask_id = $1 RETURNING id"
"""The statement that erases the files of an ask. `SqlFiles.sweep` then deletes their bytes."""
_FILE: Final = TypeAdapter(AttachedFile)
_STEP: Final = 4
"""Chunks that are deleted in one transaction, so that no click waits for all of a file."""
_MAX_CHUNKS: Final = -(-MAX_FILE // CHUNK)
_SWEPT: Final = 100
"""Files that are looked up at a time."""
_BEGIN: Final = """INSERT INTO files (id, agent, at) SELECT $1, CAST($2 AS text), CAST($3 AS double precision)
    WHERE CAST($4 AS integer) = 0 OR (SELECT count(*) FROM files WHERE agent = $2 AND ask_id IS NULL) < $4
    ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE files.agent = excluded.agent AND files.value IS NULL
    RETURNING 1"""
_ORPHANS: Final = f"""SELECT DISTINCT file_id FROM file_chunks
    WHERE NOT EXISTS (SELECT 1 FROM files WHERE id = file_id) LIMIT {_SWEPT}"""
_PRUNE: Final = "DELETE FROM files WHERE ask_id IS NULL AND at < $1 RETURNING id"


class SqlFiles(Part[SqlDatabase], FileStore):
    async def begin(self, file_id: str, agent: str, at: float, limit: int) -> bool:
        return bool(await self._db.execute(_BEGIN, file_id, agent, at, limit))

    async def add_chunk(self, file_id: str, number: int, data: bytes) -> None:
        insert = """INSERT INTO file_chunks (file_id, n, data) VALUES ($1, $2, $3)
            ON CONFLICT (file_id, n) DO NOTHING"""
        await self._db.execute(insert, file_id, number, data)

    async def finish(self, file: AttachedFile) -> None:
        value = rows.dump(_FILE.dump_python(file, mode="json"))
        await self._db.execute("UPDATE files SET value = $2 WHERE id = $1", file.id, value)

    async def drop(self, file_id: str) -> None:
        await self._db.execute("DELETE FROM files WHERE id = $1 AND ask_id IS NULL", file_id)
        await self.sweep([file_id])

    async def get(self, file_id: str) -> StoredFile | None:
        found = await self._select("id = $1", file_id)
        return found[0] if found else None

    async def find_unclaimed(
        self, file_ids: Collection[str], agent: str, since: float
    ) -> Sequence[AttachedFile]:
        named = placeholders(len(file_ids), 3)
        where = f"agent = $1 AND at >= $2 AND ask_id IS NULL AND id IN ({named})"
        return [each.file for each in await self._select(where, agent, since, *file_ids)]

    async def _select(self, where: str, *values: str | float) -> list[StoredFile]:
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(
            f"SELECT {value}, agent, ask_id, at FROM files WHERE value IS NOT NULL AND {where}",
            *values,
        )
        return [
            StoredFile(file, *rest)
            for row in found
            for file, rest in zip(
                rows.read_values(_FILE, "files", [row[:1]]), [row[1:]], strict=False
            )
        ]

    async def read_chunk(self, file_id: str, number: int) -> bytes:
        found = await self._db.fetch(
            """SELECT data FROM file_chunks WHERE file_id = $1 AND n = $2
                AND EXISTS (SELECT 1 FROM files WHERE id = file_id)""",
            file_id,
            number,
        )
        return bytes(found[0][0]) if found else b""

    async def prune(self, before: float) -> int:
        pruned = [file_id for (file_id,) in await self._db.execute(_PRUNE, before)]
        await self.sweep(pruned)
        return len(pruned)

    async def delete_remains(self) -> None:
        while orphans := await self._db.fetch(_ORPHANS):
            await self.sweep(file_id for (file_id,) in orphans)

    async def sweep(self, file_ids: Iterable[str]) -> None:
        """Delete the bytes of files that are deleted, in small steps."""
        delete = """DELETE FROM file_chunks WHERE file_id = $1 AND n >= $2 AND n < $3
            AND NOT EXISTS (SELECT 1 FROM files WHERE id = $1)"""
        for file_id in file_ids:
            for first in range(0, _MAX_CHUNKS + 1, _STEP):
                await self._db.execute(delete, file_id, first, first + _STEP)

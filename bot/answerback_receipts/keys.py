"""The key that signs receipts, as configured: all processes with one store have the same."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, NamedTuple

from answerback.core.errors import ConfigError
from answerback.ports.receipt_key import SigningKey
from answerback.ports.store import Store
from answerback.runtime.config import Settings
from answerback_receipts.key_file import ReceiptKeyFile
from answerback_receipts.settings import ReceiptSettings
from answerback_receipts.stored_receipts import StoredReceipts

_SERVICE_ID: Final = "receipts service id"
_ID_BYTES: Final = 12


class KeyPlace(NamedTuple):
    """Where the keys are: in the table of the configuration, or in a file beside the database's."""

    table: ReceiptSettings
    database_file: Path
    database_name: str
    """The name that people know the database by."""

    @property
    def file(self) -> ReceiptKeyFile:
        """The file that holds the keys unless ``receipts.key`` does."""
        return ReceiptKeyFile(self.database_file)


def place_in(settings: Settings) -> KeyPlace:
    """Return where the keys of a configuration are."""
    table = getattr(settings, "receipts", None)
    own = table if isinstance(table, ReceiptSettings) else ReceiptSettings()
    return KeyPlace(own, settings.storage.file, settings.storage.name)


def read_keys(place: KeyPlace) -> list[SigningKey]:
    """Return the configured keys, the one to use first, and then the former ones.

    Raises:
        ConfigError: the file holds something else.
        StoreError: the file cannot be read.
    """
    if place.table.key:
        return [SigningKey(key.get_secret_value()) for key in place.table.key]
    file = place.file
    try:
        return [SigningKey(key) for key in file.read()]
    except ValueError as error:
        raise ConfigError(
            f"The file {file.path} holds no key that signs receipts ({error}). Put it back from a backup, or remove it "
            "and run `answerback receipts rotate --lost`."
        ) from error


async def open_signing_key(place: KeyPlace, store: Store, now: float) -> SigningKey | None:
    """Return the key that signs receipts, creating the first one; None if there are to be none.

    Raises:
        ConfigError: the store's receipts are signed with another key.
        StoreError: the store or the key file cannot be used.
    """
    if not place.table.enabled:
        return None
    keys = await asyncio.to_thread(read_keys, place)
    receipts = StoredReceipts(store.rows)
    if not keys and not await receipts.public_keys():
        await asyncio.to_thread(place.file.ensure)
        keys = await asyncio.to_thread(read_keys, place)
    former = [key.public.x for key in keys[1:]]
    if not keys or not await receipts.use_key(keys[0].public.x, former, now):
        raise ConfigError(_other_key(place))
    return keys[0]


def _other_key(place: KeyPlace) -> str:
    where = "`receipts.key`" if place.table.key else f"the file {place.file.path}"
    return (
        f"The receipts in the database {place.database_name} are signed with another key than that of {where}. All "
        "services with one database need the same key: set `receipts.key` for each, or give each the same file. If the "
        "key is lost, run `answerback receipts rotate --lost`."
    )


async def read_service_id(store: Store) -> str:
    """Return the name of the service in its receipts, which is that of its store."""
    return f"svc_{(await store.secret(_SERVICE_ID))[:_ID_BYTES].hex()}"

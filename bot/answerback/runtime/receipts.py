"""The key that signs receipts, as configured: all processes with one store have the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from answerback.core.errors import ConfigError
from answerback.ports.receipt_key import SigningKey
from answerback.ports.store import Store
from answerback.runtime.config import Settings
from answerback_storage.receipt_key_file import ReceiptKeyFile

if TYPE_CHECKING:  # commands about keys need neither
    from answerback.ports.surface import Surface
    from answerback.service.receipts import Receipts

_SERVICE_ID: Final = "receipts service id"
_ID_BYTES: Final = 12


def key_file(settings: Settings) -> ReceiptKeyFile:
    """Return the file that holds the keys unless ``receipts.key`` does."""
    return ReceiptKeyFile(settings.storage.file)


def read_keys(settings: Settings) -> list[SigningKey]:
    """Return the configured keys, the one to use first, and then the former ones.

    Raises:
        ConfigError: the file holds something else.
        StoreError: the file cannot be read.
    """
    if settings.receipts.key:
        return [SigningKey(key.get_secret_value()) for key in settings.receipts.key]
    file = key_file(settings)
    try:
        return [SigningKey(key) for key in file.read()]
    except ValueError as error:
        raise ConfigError(
            f"The file {file.path} holds no key that signs receipts ({error}). Put it back from a backup, or remove it "
            "and run `answerback receipts rotate --lost`."
        ) from error


async def open_signing_key(settings: Settings, store: Store, now: float) -> SigningKey | None:
    """Return the key that signs receipts, creating the first one; None if there are to be none.

    Raises:
        ConfigError: the store's receipts are signed with another key.
        StoreError: the store or the key file cannot be used.
    """
    if not settings.receipts.enabled:
        return None
    keys = await asyncio.to_thread(read_keys, settings)
    if not keys and not await store.receipts.public_keys():
        await asyncio.to_thread(key_file(settings).ensure)
        keys = await asyncio.to_thread(read_keys, settings)
    former = [key.public.x for key in keys[1:]]
    if not keys or not await store.receipts.use_key(keys[0].public.x, former, now):
        raise ConfigError(_other_key(settings))
    return keys[0]


def _other_key(settings: Settings) -> str:
    where = "`receipts.key`" if settings.receipts.key else f"the file {key_file(settings).path}"
    return (
        f"The receipts in the database {settings.storage.name} are signed with another key than that of {where}. All "
        "services with one database need the same key: set `receipts.key` for each, or give each the same file. If the "
        "key is lost, run `answerback receipts rotate --lost`."
    )


async def read_service_id(store: Store) -> str:
    """Return the name of the service in its receipts, which is that of its store."""
    return f"svc_{(await store.secret(_SERVICE_ID))[:_ID_BYTES].hex()}"


async def build_receipts(
    settings: Settings, store: Store, now: float, surfaces: Mapping[str, Surface]
) -> Receipts | None:
    """Build what makes receipts; None if there are to be none."""
    from answerback.service.receipts import Receipts

    key = await open_signing_key(settings, store, now)
    return None if key is None else Receipts(key, await read_service_id(store), surfaces)

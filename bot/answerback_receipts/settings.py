"""The table of the configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from answerback.ports.receipt_key import SigningKey
from answerback.ports.settings_tables import Table, split_list


def _check_receipt_key(secret: SecretStr) -> SecretStr:
    SigningKey(secret.get_secret_value())
    return secret


class ReceiptSettings(Table):
    """Receipts of what people decided, and the key that signs them."""

    enabled: bool = True
    key: Annotated[
        tuple[Annotated[SecretStr, AfterValidator(_check_receipt_key)], ...],
        NoDecode,
        BeforeValidator(split_list),
    ] = ()
    """The private key; a second one is the key that it replaces. If empty, it is in a file next to the database."""

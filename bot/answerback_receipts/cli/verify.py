"""``answerback verify``: checks a receipt without a service, or the chain in the database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from answerback_agents.cli.options import Config, Json
from answerback_agents.cli.output import (
    EXIT_FAILED,
    EXIT_USAGE,
    counted,
    fail,
    print_json,
    print_result,
    say,
    warn,
)

if TYPE_CHECKING:
    from answerback.ports.receipt_key import PublicKey
    from answerback.runtime.config import Settings
    from answerback_receipts.bodies import ReceiptBody
    from answerback_receipts.checks import ChainVerdict, Verdict


def command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A receipt, as `GET /v1/asks/ID/receipt` returns it; `-` reads stdin.",
        ),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            help="The keys to trust: the service's `/.well-known/answerback-receipts.json`, saved when you "
            "trusted it. By default, the keys of the service that is configured here."
        ),
    ] = None,
    store: Annotated[
        bool,
        typer.Option(
            "--store",
            help="Check the database's whole chain of receipts, and that it has the receipt in FILE.",
        ),
    ] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Check a receipt without a service, or the chain of receipts in the database.

    Example: `answerback verify receipt.json --keys keys.json`

    It says what the receipt proves and what it does not, and needs no network. With --store, it walks the chain of
    receipts in the database and names the first line that was changed, removed or moved.
    """
    from answerback.runtime.config_file import load_settings
    from answerback_receipts import checks

    if file is None and not store:
        fail("Name a file with a receipt, or add --store to check the database.", EXIT_USAGE)
    settings = load_settings(config) if store or keys is None else None
    # Without --keys, those of the database check its chain.
    trusted = {} if store and file is None and keys is None else _read_keys(keys, settings)
    kept = None if file is None else _read_receipt(file)
    verdict = None if kept is None else checks.check(kept, trusted)
    chain = _check_store(settings, trusted, kept) if store and settings is not None else None
    _report(verdict, chain, json=json)
    if (verdict is not None and verdict.faults) or (chain is not None and chain.fault):
        sys.exit(EXIT_FAILED)


def _read_receipt(file: Path) -> ReceiptBody:
    from answerback_receipts import checks

    text = sys.stdin.buffer.read() if str(file) == "-" else _read(file)
    body = checks.parse(text)
    if body is None:
        fail(f"{file} is not a receipt as `GET /v1/asks/ID/receipt` returns it.", EXIT_USAGE)
    return body


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        fail(f"The file {file} cannot be read: {error.strerror}.", EXIT_USAGE)


def _read_keys(file: Path | None, settings: Settings | None) -> dict[str, PublicKey]:
    """Return the trusted keys by their ids."""
    from pydantic_core import from_json

    from answerback.ports.receipt_key import public_key_of
    from answerback_receipts.keys import place_in, read_keys

    if file is None:
        found = (
            [key.public for key in read_keys(place_in(settings))] if settings is not None else []
        )
        if not found:
            fail(
                "There are no keys here to check receipts with. Name those of the service with --keys: save its "
                "/.well-known/answerback-receipts.json.",
                EXIT_USAGE,
            )
    else:
        try:
            document = from_json(_read(file))
        except ValueError:
            document = None
        jwks = document.get("keys") if isinstance(document, dict) else None
        listed = [public_key_of(jwk) for jwk in jwks] if isinstance(jwks, list) else []
        found = [key for key in listed if key is not None]
        if not found:
            fail(f"{file} holds no Ed25519 keys as a JSON Web Key Set.", EXIT_USAGE)
    return {key.kid: key for key in found}


def _check_store(
    settings: Settings, trusted: dict[str, PublicKey], kept: ReceiptBody | None
) -> ChainVerdict:
    import asyncio

    from answerback.ports.receipt_key import PublicKey
    from answerback.runtime.open_store import open_to_read
    from answerback_receipts import checks
    from answerback_receipts.stored_receipts import StoredReceipts

    async def run() -> ChainVerdict:
        async with open_to_read(settings.storage) as store:
            if not trusted:
                for x in await StoredReceipts(store.rows).public_keys():
                    trusted[PublicKey(x).kid] = PublicKey(x)
            return await checks.check_store(store, trusted, kept)

    return asyncio.run(run())


def _report(verdict: Verdict | None, chain: ChainVerdict | None, *, json: bool) -> None:
    from dataclasses import asdict

    if json:
        print_json({"receipt": verdict and asdict(verdict), "store": chain and asdict(chain)})
        return
    if verdict is not None:
        _report_receipt(verdict)
    if chain is not None and chain.fault is not None:
        warn(f"The chain of receipts is broken. {chain.fault}")
    elif chain is not None:
        be = "is" if chain.unlinked == 1 else "are"
        waiting = f"; {chain.unlinked} more {be} about to be added" if chain.unlinked else ""
        say(f"The chain of receipts is whole: {counted(chain.lines, 'line')}{waiting}.")
        if chain.digest is not None:
            say(f"Its end is {chain.digest}. A chain that was cut off or restored ends elsewhere.")


def _report_receipt(verdict: Verdict) -> None:
    for fault in verdict.faults:
        warn(fault)
    if verdict.faults:
        warn("This receipt proves nothing.")
        return
    print_result("\n- ".join(["This receipt proves:", *verdict.proves]))
    print_result("\n- ".join(["It does not prove:", *verdict.does_not_prove]))

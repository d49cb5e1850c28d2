"""``answerback receipts``: the key that signs receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Config
from answerback_agents.cli.output import fail, print_result, say

if TYPE_CHECKING:
    from answerback.ports.receipt_key import SigningKey
    from answerback.runtime.config import Settings

app: Final = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def receipts() -> None:
    """Manage the key that signs receipts."""


@app.command()
def rotate(
    lost: Annotated[
        bool,
        typer.Option(
            "--lost",
            help="The key in use is lost. Stop the service first; it signs with the new key.",
        ),
    ] = False,
    config: Config = None,
) -> None:
    """Make a new key, and print its id. Receipts that older keys have signed can still be checked.

    Example: `answerback receipts rotate`

    A service signs with the new key once it is restarted. If the key is in the configuration (`receipts.key`), this
    prints the new value instead: set it for all services with the same database, and restart them.
    """
    from answerback.ports.receipt_key import SigningKey, new_private_key
    from answerback.runtime.config_file import load_settings
    from answerback_receipts.keys import place_in

    settings = load_settings(config)
    place = place_in(settings)
    if lost:
        _replace_lost(settings)
        return
    if place.table.key:
        former = [key.get_secret_value() for key in place.table.key]
        print_result(",".join([new_private_key(), *former]))
        say("Set `receipts.key` to this for all services with the same database, and restart them.")
        return
    file = place.file
    if not file.read():
        fail(
            f"There is no key at {file.path.absolute()} to replace. `answerback serve` creates one when it starts. Run "
            "this in the service's folder, or name its configuration file with --config."
        )
    print_result(SigningKey(file.rotate()).kid)
    say("Restart the service, so that it signs with the new key.")


def _replace_lost(settings: Settings) -> None:
    import asyncio

    from answerback.ports.receipt_key import SigningKey
    from answerback_receipts.keys import place_in

    place = place_in(settings)
    configured = place.table.key
    key = SigningKey(configured[0].get_secret_value() if configured else place.file.rotate())
    if not asyncio.run(_use(settings, key)):
        fail("The database knows this key as one that was replaced. Make another one.")
    print_result(key.kid)


async def _use(settings: Settings, key: SigningKey) -> bool:
    from answerback.runtime.open_store import open_configured_store
    from answerback_receipts.stored_receipts import StoredReceipts

    async with open_configured_store(settings.storage) as opened:
        receipts = StoredReceipts(opened.store.rows)
        used = await receipts.public_keys()
        return await receipts.use_key(key.public.x, used[-1:], opened.clock.now())

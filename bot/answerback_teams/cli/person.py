"""``answerback person``: personal links, which let people other than the operator answer on the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Config, Json, Reader, Url
from answerback_agents.cli.output import EXIT_USAGE, columns, fail, print_result, print_rows, say

if TYPE_CHECKING:
    from answerback.runtime.config import Settings
    from answerback_agents.cli.api_client import JsonObject
    from answerback_storage.personal_links_file import PersonalLinksFile

app: Final = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Manage personal links, which let people answer on the page under their own names.",
)
_Name = Annotated[str, typer.Argument(help="The person's name, such as alice@example.com.")]


@app.command()
def add(
    name: _Name,
    url: Annotated[
        str | None,
        typer.Option(help="The address that the person reaches the service at."),
    ] = None,
    config: Config = None,
) -> None:
    """Create a personal link, and print it once.

    Example: `answerback person add alice@example.com`

    Run this in the service's folder as the service's user. The link works at once, even if the service is running.
    Send it only to that person: anyone who has it can answer under their name.
    """
    import time

    from answerback.ports.person_key import name_problem
    from answerback.runtime.plugins import installed_plugins

    settings = _settings(config)
    if (problem := name_problem(name, installed_plugins().home)) is not None:
        fail(f"{name[:80]!r} cannot be a person's name: {problem}.", EXIT_USAGE)
    key = _file(settings).add(name, time.time())
    if key is None:
        fail(
            f"{name} already has a personal link. To replace it, run `answerback person revoke` first."
        )
    base, far = _link_address(settings, url)
    say(f"The personal link of {name}, shown only once:")
    print_result(f"{base}/?key={key}")
    if not far:
        say(
            "It only works on this machine. To reach people elsewhere, set public.port and public.url, or name the"
            " address with --url."
        )


@app.command("list")
def list_people(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Config = None,
) -> None:
    """List the people who have a personal link, with the dates when they got it.

    Example: `answerback person list`
    """
    from datetime import UTC, datetime

    links = [
        {
            "name": name,
            "added_at": datetime.fromtimestamp(link.added_at, UTC).isoformat(timespec="seconds"),
        }
        for name, link in _file(_settings(config)).read().items()
    ]
    nothing = "Nobody has a personal link."
    print_rows(links, lambda link: columns(link["added_at"], link["name"]), nothing, json=json)


@app.command()
def revoke(name: _Name, config: Config = None) -> None:
    """Revoke a personal link. It stops working at once, and so does every page that was opened with it.

    Example: `answerback person revoke alice@example.com`
    """
    if not _file(_settings(config)).revoke(name):
        fail(f"{name} has no personal link. `answerback person list` shows who has one.")
    say(f"The personal link of {name} no longer works.")


@app.command()
def link(
    name: _Name,
    url: Url = None,
    token: Reader = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the code to be typed.")] = 900,
) -> None:
    """Link an account in a chat to the page of a person who has a personal link, where `people_link` is on.

    Example: `answerback person link alice@example.com`

    The account's owner types the code that this prints, and confirms; then you are asked to confirm it here.
    """
    from answerback_agents.cli.api_client import resolve_access
    from answerback_teams.cli.person_links import link_account

    link_account(resolve_access(url, token), name, wait)


@app.command()
def links(url: Url = None, token: Reader = None, json: Json = False) -> None:
    """List the accounts that people have linked to their pages.

    Example: `answerback person links`
    """
    from answerback_agents.cli.api_client import ROWS, call_api, resolve_access

    found = call_api(resolve_access(url, token), "GET", "/v1/links")
    print_rows(ROWS.validate_python(found["links"]), _link_line, "No account is linked.", json=json)


@app.command()
def unlink(
    account: Annotated[
        str, typer.Argument(help="The account, as answerback person links lists it.")
    ],
    url: Url = None,
    token: Reader = None,
) -> None:
    """Remove a link: that account, and the page, answer for themselves alone from now on.

    Example: `answerback person unlink ACCOUNT`
    """
    from urllib.parse import quote

    from answerback_agents.cli.api_client import call_api, resolve_access

    hint = " `answerback person links` shows which accounts are."
    call_api(resolve_access(url, token), "DELETE", f"/v1/links/{quote(account, safe='')}", hint)
    say(f"{account} is no longer linked.")


def _link_line(found: JsonObject) -> str:
    return columns(found["linked_at"], found["account"], found["name"], "to", found["page"])


def _settings(config: Path | None) -> Settings:
    from answerback.runtime.config_file import load_settings

    return load_settings(config)


def _file(settings: Settings) -> PersonalLinksFile:
    from answerback_storage.personal_links_file import PersonalLinksFile

    return PersonalLinksFile(settings.storage.file)


def _link_address(settings: Settings, url: str | None) -> tuple[str, bool]:
    """The address of the links, and whether it is reachable from beyond this machine."""
    from answerback.runtime.config import listener_url

    public = settings.public
    if url is not None or public.url is not None:
        return (url or public.url or "").rstrip("/"), True
    if public.port:
        return listener_url(public.host, public.port), False
    return listener_url(settings.server.host, settings.server.port), False

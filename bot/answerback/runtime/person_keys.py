"""The valid person's keys: the operator's, and those of personal links; and what proves who a person is."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from answerback.api.auth import AgentTokens
from answerback.core.errors import StoreError
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import (
    KeyHolder,
    KeyHolderSource,
    operator,
    operator_holder,
    personal_holder,
)
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback_storage.person_key_file import PersonKeyFile
from answerback_storage.personal_links_file import PersonalLink, PersonalLinksFile

logger = logging.getLogger(__name__)


async def build_holders_reader(settings: Settings) -> KeyHolderSource:
    """Build a function that reads all valid keys each time, so that changes by the commands apply at once.

    The commands are `answerback key` and `answerback person`.

    Raises:
        StoreError: the key file cannot be created.
    """
    path = settings.storage.file
    file, links = PersonKeyFile(path), PersonalLinksFile(path)
    await asyncio.to_thread(file.ensure)
    home = installed_plugins().home
    name_of = plugin_settings(settings, installed_plugins().usable[home]).name_of

    reported: set[str] = set()

    def read_links() -> dict[str, PersonalLink]:
        """The personal links; none if their file cannot be read, so that the operator's key still works."""
        try:
            found = links.read()
        except StoreError as error:
            if str(error) not in reported:
                extra = {"action": "personal_links_unreadable"}
                logger.error("No personal link works: %s", error, extra=extra)  # noqa: TRY400 the text says it all
            reported.add(str(error))
            return {}
        reported.clear()
        return found

    def read() -> tuple[KeyHolder, ...]:
        key = file.read()
        if key is None:
            return ()
        people = [
            personal_holder(
                link.key_hash,
                key,
                Person(surface=home, user_id=name, name=name_of(name), known=AuthMethod.LINK),
            )
            for name, link in read_links().items()
        ]
        return (operator_holder(key, operator(home)), *people)

    return partial(asyncio.to_thread, read)


def build_credential_reader(
    settings: Settings, holders: KeyHolderSource, tokens: AgentTokens
) -> CredentialOf:
    """Build the function that reads what is valid now: what rests on a revoked or replaced credential ends."""
    header = signed_in_by(settings)

    async def credential_of(person: Person) -> str | None:
        if person.via is not None:
            return tokens.front_end_hash(person.via)
        if person.known is AuthMethod.PROXY:
            return header
        if person.known not in {AuthMethod.KEY, AuthMethod.LINK}:
            return ""
        valid = await holders()
        if person.known is AuthMethod.KEY:
            return valid[0].key_hash if valid else None
        account = (person.surface, person.user_id)
        links = [each for each in valid if (each.person.surface, each.person.user_id) == account]
        # A personal link's pages also depend on the service's own key.
        return f"{links[0].key_hash} {valid[0].key_hash}" if links else None

    return credential_of


def signed_in_by(settings: Settings) -> str | None:
    plugins = installed_plugins()
    header: str | None = plugin_settings(settings, plugins.usable[plugins.home]).signed_in_by()
    return header

"""The valid person's keys: the operator's, and those of personal links; and what proves who a person is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from answerback.api.auth import AgentTokens
from answerback.core.errors import StoreError
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.extension import Running
from answerback.ports.person_key import (
    KeyHolder,
    KeyHolderSource,
    operator,
    operator_holder,
    personal_holder,
)
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.file_watch import Fingerprint, fingerprint
from answerback.runtime.plugins import installed_plugins
from answerback.service.grants import CredentialOf
from answerback_storage.person_key_file import PersonKeyFile
from answerback_storage.personal_links_file import PersonalLink, PersonalLinksFile

logger = logging.getLogger(__name__)

Fingerprints = tuple[Fingerprint, Fingerprint]
"""The fingerprints of the key file, and of the file of personal links."""


class HolderReader:
    """Reads all valid keys, so that changes by `answerback key` and `answerback person` apply at once.

    The files are opened only after a change. Whether they have changed is looked up on the event loop: a thread would
    take a hundred times as long, for each action of a person with a key.

    Args:
        home: the surface of the keys' people.
        name_of: returns how a person is called.
    """

    def __init__(
        self,
        file: PersonKeyFile,
        links: PersonalLinksFile,
        home: str,
        name_of: Callable[[str], str],
    ) -> None:
        self._file, self._links = file, links
        self._home, self._name_of = home, name_of
        self._reported: set[str] = set()
        self._known: tuple[Fingerprints, tuple[KeyHolder, ...]] | None = None
        """The holders that were read, and the files' fingerprints before that; None if they have to be read again."""

    async def __call__(self) -> tuple[KeyHolder, ...]:
        known = self._known
        if known is not None and known[0] == self._fingerprints():
            return known[1]
        return await asyncio.to_thread(self._read)

    def _fingerprints(self) -> Fingerprints:
        return fingerprint(self._file.path), fingerprint(self._links.path)

    def _read(self) -> tuple[KeyHolder, ...]:
        before = self._fingerprints()
        key, links = self._file.read(), self._read_links()
        holders = self._build(key, links or {}) if key is not None else ()
        self._known = None if links is None else (before, holders)
        return holders

    def _read_links(self) -> Mapping[str, PersonalLink] | None:
        """The personal links; None if their file cannot be read, so that the operator's key still works."""
        try:
            found = self._links.read()
        except StoreError as error:
            if str(error) not in self._reported:
                extra = {"action": "personal_links_unreadable"}
                logger.error("No personal link works: %s", error, extra=extra)  # noqa: TRY400 the text says it all
            self._reported.add(str(error))
            return None
        self._reported.clear()
        return found

    def _build(self, key: str, links: Mapping[str, PersonalLink]) -> tuple[KeyHolder, ...]:
        home, name_of = self._home, self._name_of
        people = [
            personal_holder(
                link.key_hash,
                key,
                Person(surface=home, user_id=name, name=name_of(name), known=AuthMethod.LINK),
            )
            for name, link in links.items()
        ]
        return (operator_holder(key, operator(home)), *people)


class JoinedHolders:
    """All valid keys, and the people whom extensions have signed in."""

    def __init__(self, keys: KeyHolderSource) -> None:
        self._keys = keys
        self._others: Sequence[Running] = ()

    def join(self, others: Sequence[Running]) -> None:
        """Take in those whom these extensions sign in, after the keys."""
        self._others = others

    async def __call__(self) -> tuple[KeyHolder, ...]:
        found = await self._keys()
        for each in self._others:
            found = (*found, *await each.signed_in())
        return found

    def credential_of(self, person: Person) -> str | None:
        """Return what proves who a person is that an extension has signed in; None: nothing."""
        found = (each.credential_of(person) for each in self._others)
        return next((each for each in found if each is not None), None)


async def build_holders_reader(settings: Settings) -> JoinedHolders:
    """Build the function that returns all valid keys.

    Raises:
        StoreError: the key file cannot be created.
    """
    path = settings.storage.file
    file = PersonKeyFile(path)
    await asyncio.to_thread(file.ensure)
    home = installed_plugins().home
    name_of = plugin_settings(settings, installed_plugins().usable[home]).name_of
    holders = HolderReader(file, PersonalLinksFile(path), home, name_of)
    await holders()  # the first person who acts does not wait for a thread
    return JoinedHolders(holders)


def build_credential_reader(
    settings: Settings, holders: JoinedHolders, tokens: AgentTokens
) -> CredentialOf:
    """Build the function that reads what is valid now: what rests on a revoked or replaced credential ends."""
    header = signed_in_by(settings)

    async def credential_of(person: Person) -> str | None:
        if person.via is not None:
            return tokens.front_end_hash(person.via)
        if person.known is AuthMethod.PROXY:
            return header
        if person.known is AuthMethod.OIDC:
            return holders.credential_of(person)
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

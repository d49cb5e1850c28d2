"""Whose keys are valid: the operator's, and those of personal links."""

from __future__ import annotations

import asyncio
from functools import partial

from answerback.core.person import Known
from answerback.core.walker import Person
from answerback.ports.person_key import Holder, Holders, operator, operators, personal
from answerback.runtime.config import Settings, table_of
from answerback.runtime.plugins import installed
from answerback_storage.person_key_file import PersonKeyFile
from answerback_storage.personal_links_file import PersonalLinksFile


async def holders(settings: Settings) -> Holders:
    """All valid keys, read anew each time: what `answerback key` and `answerback person` change counts at once.

    Raises:
        StoreError: the key file cannot be made; in words.
    """
    path = settings.storage.sqlite_path
    file, links = PersonKeyFile(path), PersonalLinksFile(path)
    await asyncio.to_thread(file.ensure)
    home = installed().home
    name_of = table_of(settings, installed().usable[home]).name_of

    def read() -> tuple[Holder, ...]:
        key = file.read()
        if key is None:
            return ()
        people = [
            personal(
                one.key_hash,
                key,
                Person(surface=home, user_id=name, name=name_of(name), known=Known.LINK),
            )
            for name, one in links.read().items()
        ]
        return (operators(key, operator(home)), *people)

    return partial(asyncio.to_thread, read)

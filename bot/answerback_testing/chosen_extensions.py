"""Let a test run with some of the installed extensions only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from answerback.ports import installed_extensions
from answerback.ports.extension import Extension
from answerback_base.entry_points import Discovered


@contextmanager
def only_extensions(names: Collection[str], *others: Extension) -> Iterator[Discovered[Extension]]:
    """As long as the context lasts, these extensions are installed, and no others.

    Args:
        names: those of installed extensions.
        others: extensions that no distribution has.
    """
    installed = installed_extensions.installed_extensions().usable
    usable = {name: extension for name, extension in installed.items() if name in names}
    usable |= {extension.name: extension for extension in others}
    found = Discovered(usable, {})
    with patch.object(installed_extensions, "discover_installed", lambda: found):
        yield found

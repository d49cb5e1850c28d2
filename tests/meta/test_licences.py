"""All installed packages may be used with an MIT-licensed program, as each package's metadata says."""

import re
from importlib.metadata import Distribution, distribution

from tests.meta.wheels import FOLDERS, closure

ALLOWED = (
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CNRI-Python",
    "ISC",
    "LGPL-3.0-only",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
    "Public Domain",
)
"""Licences, by their SPDX identifiers. psycopg's, the LGPL, asks nothing of a program that only imports it."""
_AS_PACKAGES_NAME_THEM = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def _licences(package: Distribution) -> set[str]:
    """Return a package's licences, from the newest field of its metadata that names any."""
    metadata = package.metadata
    for expression in metadata.get_all("License-Expression") or ():
        return set(re.findall(r"[\w.-]+", expression)) - {"AND", "OR", "WITH"}
    prefix = "License :: "
    classifiers = [c for c in metadata.get_all("Classifier") or () if c.startswith(prefix)]
    named = {c.rsplit(" :: ", 1)[1] for c in classifiers} - {"OSI Approved"}
    named = named or {(metadata.get_all("License") or ["not named"])[0].splitlines()[0]}
    return {_AS_PACKAGES_NAME_THEM.get(name, name) for name in named}


def test_every_package_has_a_licence_that_is_allowed() -> None:
    names = closure(["answerback[all]", "answerback-client"]) - FOLDERS.keys()
    found = {name: _licences(distribution(name)) for name in sorted(names)}
    not_allowed = {name: found[name] for name in found if not found[name] <= set(ALLOWED)}
    assert not_allowed == {}, "choose another package, or allow its licence with a reason"

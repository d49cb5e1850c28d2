"""No file of the project contains a package registry, a path on somebody's machine, or a secret."""

import re

from tests.meta.project import ROOT, files

# In pieces, so that this file does not contain them either.
_HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "yarn" + "pkg.com",
    "deb.deb" + "ian.org",
    "crates" + ".io",
    "proxy.gol" + "ang.org",
]
_FORBIDDEN = re.compile(
    "|".join(
        [
            *(re.escape(host) for host in _HOSTS),
            r"(?<![\w.:])/" + r"work/",
            r"/tmp/" + r"b/",
            r"\.\./" + "shared",
            "/home/" + r"[a-z]+/",
            r"-----BEGIN [A-Z ]*PRIVATE " + "KEY",
        ]
    )
)


def test_no_file_contains_a_registry_or_a_local_path() -> None:
    found = []
    for path in files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
            for match in _FORBIDDEN.finditer(text)
        ]
    assert found == []

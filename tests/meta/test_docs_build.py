"""The documentation builds without warnings, and its pages load nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.meta.project import ROOT

_EXTERNAL = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon|dns-prefetch)["']?[^>]*"""
    r"""\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def test_the_documentation_builds_strictly_and_loads_nothing_external(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict"),
            *("--config-file", str(ROOT / ".mkdocs.yml"), "--site-dir", str(tmp_path)),
        ],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=50,
    )
    pages = sorted(tmp_path.rglob("*.html")) + sorted(tmp_path.rglob("*.css"))
    assert (tmp_path / "tutorial.html") in pages
    table = (tmp_path / "specification-tests.html").read_text("utf-8")
    assert "<td>WALK-7</td>" in table
    assert "test_back_skips_answers_by_machines" in table
    external = [
        f"{page.relative_to(tmp_path)}: {match[0]}"
        for page in pages
        for match in _EXTERNAL.finditer(page.read_text("utf-8"))
    ]
    assert external == []

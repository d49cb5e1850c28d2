"""Everything that names the version agrees, so that `make release` can build it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.meta.project import ROOT, files
from tests.meta.wheels import project

VERSION = project()["version"]


def _check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / ".ci" / "release", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_place_names_the_same_version() -> None:
    done = _check(ROOT)
    assert (done.returncode, done.stdout) == (0, f"Everything says {VERSION}.\n"), done.stderr


def test_a_version_that_differs_is_named(tmp_path: Path) -> None:
    named = (
        ".ci/release",
        "CHANGELOG.md",
        "pyproject.toml",
        "bot/answerback_base/version.py",
        *(
            f"bot/answerback_{name}/pyproject.toml"
            for name in ("agents", "base", "client", "hosts", "testing")
        ),
    )
    for path in files():
        inside = path.relative_to(ROOT)
        if str(inside) in named or inside.parts[:2] == ("manifests", "kubernetes"):
            (tmp_path / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / inside)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    client = tmp_path / "bot" / "answerback_client" / "pyproject.toml"
    client.write_text(
        client.read_text("utf-8").replace(f'version = "{VERSION}"', 'version = "9.9"')
    )
    done = _check(tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"pyproject.toml says {VERSION}, but bot/answerback_client/pyproject.toml says 9.9.\n"
    )

"""`answerback --version` names the commit that was installed, where the installation knows it."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from answerback_agents.cli.installed_commit import installed_commit

_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that installs a distribution which comes from there, and nothing else."""

    def install(origin: dict[str, Any] | None) -> None:
        information = tmp_path / "site" / "answerback-0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: answerback\nVersion: 0\n"
        )
        if origin is not None:
            (information / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.setattr(sys, "path", [str(information.parent)])
        importlib.invalidate_caches()

    return install


def test_a_release_has_no_commit(installed: Any) -> None:
    installed(None)
    assert installed_commit() is None


def test_what_is_not_installed_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    assert installed_commit() is None


def test_an_installation_from_a_repository_has_its_commit(installed: Any) -> None:
    installed(
        {"url": "https://git.example/a.git", "vcs_info": {"vcs": "git", "commit_id": _COMMIT}}
    )
    assert installed_commit() == _COMMIT[:12]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_an_editable_installation_has_the_commit_of_its_checkout(
    installed: Any, tmp_path: Path
) -> None:
    checkout = tmp_path / "check out"
    git = ("git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b.example")
    subprocess.run(("git", "init", "--quiet", str(checkout)), check=True)
    subprocess.run((*git, "commit", "--quiet", "--allow-empty", "--message=a"), check=True)
    head = subprocess.run(
        (*git, "rev-parse", "HEAD"), check=True, capture_output=True, text=True
    ).stdout
    installed({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    assert installed_commit() == head[:12]


def test_a_checkout_without_git_has_no_commit(
    installed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    installed({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert installed_commit() is None

"""What is installed is whole: a wheel holds every file of the packages, templates and styles too."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.meta.project import ROOMS, ROOT, files


def test_a_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    source = tmp_path / "source"
    wanted = set()
    for path in files():
        inside = path.relative_to(ROOT)
        if inside.parts[0] in ROOMS:
            wanted.add(inside.relative_to(inside.parts[0]).as_posix())
        elif str(inside) not in {"pyproject.toml", "README.md", "LICENSE"}:
            continue
        (source / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, source / inside)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "-qq", "--no-index"),
            *("--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)),
        ],
        check=True,
        timeout=50,
    )
    (wheel,) = tmp_path.glob("answerback-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted

"""`make frontier`: what it finds in a package, and what it says about it. The packages themselves need a network."""

from __future__ import annotations

import io
import json
import tarfile
import tomllib
import zipfile
from pathlib import Path

from tests.frontier.compare import (
    Release,
    definitions,
    differences,
    print_definitions,
    read_names,
)
from tests.meta.project import ROOT

FRONTIER = ROOT / "tests" / "frontier"
TYPES = """
/** What it asks: never a secret. */
export interface Ask { // one
  question: string;
  options?: Option[];
}
export interface Other { secret: string }
"""
WHERE = ["types.d.ts", r"export interface Ask \{.*?\n\}"]
NAMES = ["Ask", "Option", "export", "interface", "options", "question", "string"]


def test_the_names_of_a_definition_are_read_from_a_package_of_each_kind(tmp_path: Path) -> None:
    archive, wheel = tmp_path / "ask-1.2.0.tgz", tmp_path / "ask-1.2.0-py3-none-any.whl"
    with tarfile.open(archive, "w:gz") as made:
        member = tarfile.TarInfo("package/types.d.ts")
        member.size = len(TYPES.encode())
        made.addfile(member, io.BytesIO(TYPES.encode()))
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.writestr("types.d.ts", TYPES)
    source = {"npm": "ask", "Ask": WHERE, "Gone": ["none.d.ts", "x"]}
    for file in (archive, wheel):
        assert definitions(source, Release("1.2.0", file)) == {"Ask": NAMES, "Gone": None}


def test_a_program_prints_the_definitions_that_its_package_has_no_text_of(tmp_path: Path) -> None:
    script = b'#!/bin/sh\nmkdir -p "$3" && echo \'{"question": "x", "home": "\'$HOME\'"}\' > "$3/Ask.json"\n'
    archive = tmp_path / "ask-1.2.0-linux-x64.tgz"
    with tarfile.open(archive, "w:gz") as made:
        member = tarfile.TarInfo("package/vendor/bin/ask")
        member.size, member.mode = len(script), 0o755
        made.addfile(member, io.BytesIO(script))
    printed = print_definitions(archive, ["bin/ask", "schema", "--out"])
    names = definitions(
        {"Ask": ["Ask.json", ".*"], "Gone": ["Gone.json", ".*"]}, Release("1.2.0", archive, printed)
    )
    assert {"question", "home"} <= {*(names["Ask"] or [])}
    assert names["Gone"] is None


def test_descriptions_and_comments_are_not_part_of_a_definition() -> None:
    schema = '{"title": "A b", "description": "An \\"odd\\" one", "kind": "approval"}'
    assert read_names(schema, ".*") == ["approval", "kind"]
    assert read_names('class A:\n    """Says no."""\n    x: int  # why', "class.*") == [
        *("A", "class", "int", "x"),
    ]


def test_what_moved_is_said_in_a_line_each() -> None:
    recorded = {"version": "1", "definitions": {"Ask": ["a", "b"], "Same": ["c"]}}
    found = {"version": "2", "definitions": {"Ask": ["b", "d"], "Same": ["c"], "Gone": None}}
    assert [*differences("Host", recorded, found)] == [
        "Host: 1 → 2",
        "Host: Ask + d",
        "Host: Ask - a",
        "Host: Gone is not where it was; look for it, and correct sources.toml",
    ]
    assert [*differences("Host", found, found)][1:] == []


def test_every_source_is_recorded_with_all_its_definitions() -> None:
    sources = tomllib.loads((FRONTIER / "sources.toml").read_text())
    recorded = json.loads((FRONTIER / "recorded.json").read_text())
    assert recorded.keys() == sources.keys()
    for host, source in sources.items():
        names = {name for name, where in source.items() if isinstance(where, list)} - {"prints"}
        assert recorded[host]["definitions"].keys() == names
        assert all(recorded[host]["definitions"].values())

"""``answerback follow``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[Path, typer.Argument(help="The file.", exists=True)],
    wait: Annotated[bool, typer.Option(help="Go on with what is appended.")] = True,
) -> None:
    """Follow a file of outcomes."""
    last, line = 0, ""
    with path.open(encoding="utf-8") as file:
        while (more := file.readline()) or wait:
            line += more
            if not line.endswith("\n"):
                time.sleep(0.1)
                continue
            row, line = json.loads(line), ""
            if row["number"] > last:  # a line may be there twice
                last = row["number"]
                typer.echo(f"{row['outcome']['ask']} {row['outcome']['status']}")

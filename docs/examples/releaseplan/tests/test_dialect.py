"""The release plan meets the contract of dialects, and its own vectors."""

from __future__ import annotations

from pathlib import Path

from releaseplan.dialect import DIALECT

from answerback_testing.dialect_contract import DialectContract


class TestReleasePlan(DialectContract):
    dialect = DIALECT
    vectors = Path(__file__).with_name("vectors.json")

"""Dialects of our own meet the contract that plug-ins are tested by: one with a tool, and one without."""

from __future__ import annotations

from answerback.dialects import approval, ask_user_form
from answerback_testing.dialect_contract import DialectContract
from tests.vectors import OWN


class TestAskUserForm(DialectContract):
    dialect = ask_user_form.DIALECT
    vectors = OWN / "ask_user_form.json"


class TestApproval(DialectContract):
    dialect = approval.DIALECT
    vectors = OWN / "approval.json"

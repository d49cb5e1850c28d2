"""One-line changes that would each break a promise, and the tests that notice them."""

from __future__ import annotations

from tests.mutants.adapters_table import ADAPTERS
from tests.mutants.agents_table import AGENTS
from tests.mutants.core_table import CORE
from tests.mutants.service_table import SERVICE
from tests.mutants.stores_table import STORES

MUTANTS = (*CORE, *SERVICE, *AGENTS, *ADAPTERS, *STORES)

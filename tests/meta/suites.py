"""Which tests are the suite of a module that has none of its own name.

Tests are named after what users see, so that most modules are proved by those of their package.
"""

from __future__ import annotations

from typing import Final

from answerback.runtime.plugins import installed_plugins

_BOT: Final = "tests/unit/bot"
_AGENTS: Final = f"{_BOT}/agents"
_ADAPTERS: Final = "tests/unit/adapters"
_STORAGE: Final = "tests/unit/storage"

SUITES: Final = {
    "adapters/answerback_chat/*.py": (_ADAPTERS,),
    **{
        f"adapters/answerback_{plugin.name}/*.py": (f"{_ADAPTERS}/{plugin.name}",)
        for plugin in installed_plugins()
    },
    "bot/answerback_agents/acp/*.py": (f"{_AGENTS}/acp",),
    "bot/answerback_agents/bridges/*.py": (f"{_AGENTS}/bridges",),
    "bot/answerback_agents/connect/*.py": (f"{_AGENTS}/connect",),
    "bot/answerback/hooks/*.py": (f"{_BOT}/hooks",),
    "bot/answerback_agents/cli/*.py": (
        f"{_BOT}/cli",
        f"{_BOT}/api/test_shell.py",
        f"{_AGENTS}/bridges",
        f"{_AGENTS}/mcp_proxy",
    ),
    "bot/answerback_agents/mcp_proxy/*.py": (f"{_AGENTS}/mcp_proxy",),
    "bot/answerback_agents/pipe/*.py": (
        f"{_BOT}/hooks",
        f"{_AGENTS}/mcp_proxy",
        f"{_AGENTS}/pipe",
    ),
    "bot/answerback/api/*.py": (f"{_BOT}/api",),
    "bot/answerback/cli/*.py": (
        f"{_BOT}/cli",
        f"{_BOT}/api/test_shell.py",
        f"{_AGENTS}/bridges",
        f"{_AGENTS}/mcp_proxy",
    ),
    "bot/answerback/cli/terminal/*.py": (f"{_BOT}/cli/terminal",),
    "bot/answerback/core/*.py": (f"{_BOT}/core", f"{_BOT}/dialects"),
    "bot/answerback/core/json_schema/*.py": (
        f"{_BOT}/core",
        f"{_BOT}/dialects/test_schema_budgets.py",
        f"{_BOT}/cli/terminal",
    ),
    "bot/answerback/dialects/*.py": (f"{_BOT}/dialects",),
    "bot/answerback/dialects/approvals/*.py": (f"{_BOT}/dialects/approvals",),
    "bot/answerback/http/*.py": (f"{_BOT}/http", f"{_BOT}/api"),
    "bot/answerback/mcp/*.py": (f"{_BOT}/mcp",),
    "bot/answerback/ports/*.py": (f"{_BOT}/ports", f"{_BOT}/service", f"{_BOT}/runtime"),
    "bot/answerback/presentation/*.py": (
        f"{_BOT}/presentation",
        f"{_BOT}/cli/test_preview.py",
        f"{_ADAPTERS}/web",
    ),
    "bot/answerback/runtime/*.py": (f"{_BOT}/runtime",),
    "bot/answerback/service/*.py": (f"{_BOT}/service", f"{_BOT}/api"),
    "bot/answerback_testing/store_*.py": (f"{_STORAGE}/test_store_contract.py",),
    "bot/answerback_testing/*.py": (_ADAPTERS, f"{_BOT}/webhooks"),
    "bot/answerback/outbox/*.py": (f"{_BOT}/outbox", f"{_BOT}/webhooks", f"{_BOT}/service"),
    "bot/answerback_away/*.py": (f"{_BOT}/away", f"{_STORAGE}/test_store_contract.py"),
    "bot/answerback_numbers/*.py": (
        f"{_BOT}/numbers",
        f"{_BOT}/api/test_stats.py",
        f"{_STORAGE}/test_store_contract.py",
    ),
    "bot/answerback_oidc/*.py": (f"{_BOT}/oidc", f"{_STORAGE}/test_store_contract.py"),
    "bot/answerback_push/*.py": (f"{_BOT}/push", f"{_BOT}/service"),
    "bot/answerback_receipts/*.py": (
        f"{_BOT}/receipts",
        f"{_BOT}/service",
        f"{_BOT}/api",
        f"{_BOT}/cli",
    ),
    "bot/answerback_teams/*.py": (
        f"{_BOT}/teams",
        f"{_BOT}/api",
        f"{_BOT}/cli",
    ),
    "bot/answerback_webhooks/*.py": (f"{_BOT}/webhooks", f"{_BOT}/service"),
    "bot/answerback/workers/*.py": (f"{_BOT}/workers",),
    "bot/answerback_base/*.py": (f"{_BOT}/base", f"{_BOT}/core", f"{_BOT}/api", f"{_BOT}/runtime"),
    "bot/answerback_client/*.py": (f"{_BOT}/client",),
    "bot/answerback_hosts/*/*.py": (_AGENTS, f"{_BOT}/hooks", f"{_BOT}/dialects"),
    "storage/answerback_storage/*.py": (_STORAGE,),
    "storage/answerback_postgres/*.py": (
        f"{_STORAGE}/test_copy.py",
        f"{_STORAGE}/postgres",
        f"{_STORAGE}/test_store_contract.py",
    ),
    "storage/answerback_storage/sqlite/*.py": (_STORAGE,),
}
"""Patterns of modules, and where their tests are: folders, or patterns of files. The first that fits counts."""

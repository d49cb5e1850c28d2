"""Each kind of decision as people meet it on the web: axe looks at all of them, and so do people, on pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from playwright.async_api import Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.ports.late_answers import SeenState
from answerback.service.submission_request import Agent, Submission
from tests.browser.conftest import settled, show_other_ways
from tests.browser.site import INBOX, MIGRATION, Site
from tests.drawn_pictures import layout, plot, sent

Shown = Callable[[Page, Site], Awaitable[None]]

SUBTOTAL: Final = (
    "    subtotal = sum(item.price for item in items)\n    return subtotal",
    "    subtotal = sum(item.price * item.count for item in items)\n    return round(subtotal, 2)",
)
MODULE: Final = '''"""Amounts of money, in cents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    cents: int
    currency: str = "EUR"

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f} {self.currency}"
'''
BACKUP: Final = """resource "cron_job" "backup" {
  schedule = "0 3 * * *"
  command  = "/usr/local/bin/backup --to s3://acme-backups"
  timeout  = 3600
  retries  = 2

  alert {
    after = "15m"
    to    = "ops@example.com"
  }
}
"""
PLAN: Final = """# Move billing to integer cents

1. Add a column `amount_cents` beside `amount`
2. Fill it in batches of 10,000 rows
3. Read from it, and drop `amount` in the next release

Invoices stay readable at every step. **Not** part of this: the export to the accountant.
"""
Tool = tuple[str, Mapping[str, Any]]
SHELL: Final[Tool] = (
    "Bash",
    {
        "command": "git push --force origin main",
        "description": "Push the rebased branch to the remote",
    },
)
EDIT: Final[Tool] = (
    "Edit",
    {
        "file_path": "/src/app/billing.py",
        "old_string": SUBTOTAL[0],
        "new_string": SUBTOTAL[1],
    },
)
NEW_FILE: Final[Tool] = ("Write", {"file_path": "/src/app/money.py", "content": MODULE})
MCP_CALL: Final[Tool] = (
    "mcp__github__create_issue",
    {"owner": "acme", "repo": "app", "title": "The nightly backup is late", "labels": ["ops"]},
)
FETCH: Final[Tool] = (
    "WebFetch",
    {"url": "https://docs.example.com/billing/rounding", "prompt": "How are sums rounded?"},
)
REPLACEMENT: Final = {
    "file_path": "/src/site/index.html",
    "old_string": "<h1>Soon</h1>",
    "new_string": "<h1>Now</h1>\n<p>It is here.</p>",
}
QUESTION: Final = {
    "id": "store",
    "text": "Which database should the service use?",
    "answer_type": "select",
    "options": ["SQLite", "PostgreSQL"],
    "context": "It keeps about **4 GB** of events. Today there is *one* server; in spring there will be three.\n\n"
    "```python\nSTORE = os.environ['STORE_URL']\n```",
}
FORM: Final = {
    "id": "release",
    "text": "How should the release go out?",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "required": ["version", "when"],
        "properties": {
            "version": {"type": "string", "title": "Version", "pattern": "^[0-9]+\\.[0-9]+$"},
            "when": {"enum": ["today", "tomorrow"], "title": "When"},
            "notify": {"type": "boolean", "title": "Tell the customers", "default": True},
        },
    },
}


async def permission(
    there: Site,
    tool: Tool,
    *,
    agent: str | None = None,
    project: str = "app",
    hook: str = "claude",
) -> Ask:
    """Ask for a permission, as the hook of a host does."""
    name, arguments = tool
    body = Submission.model_validate(
        {
            "name": "PermissionRequest",
            "dialect": "approval",
            "arguments": {"tool_name": name, "tool_input": dict(arguments)},
            "to": "web",
            "origin": {"project": project, "folder": f"/src/{project}"},
        }
    )
    submitted = await there.service.submit(body, agent=Agent(agent) if agent else None, hook=hook)
    return submitted.ask


def permitted(tool: Tool) -> Shown:
    """Open the page of a permission prompt."""

    async def show(page: Page, there: Site) -> None:
        await page.goto(there.page(await permission(there, tool, agent="ann-laptop")))
        await settled(page)

    return show


def asked(*questions: Mapping[str, Any], **more: Any) -> Shown:
    """Open the page of questions; ``more`` is what else the submission has."""

    async def show(page: Page, there: Site) -> None:
        ask = await there.ask(*questions, agent="release-bot", origin={"project": "app"}, **more)
        await page.goto(there.page(ask))
        await settled(page)

    return show


async def ending_the_turn(page: Page, there: Site) -> None:
    """Ask whether the turn is to end."""
    await permitted(SHELL)(page, there)
    await show_other_ways(page)
    await page.locator("button[value=end_turn]").click()
    await expect(page.locator("#confirm")).to_be_visible()


async def allowed(page: Page, there: Site) -> None:
    """Open the page of a permission that was given, and has reached its agent."""
    ask = await permission(there, EDIT, agent="ann-laptop")
    assert ask.question is not None
    await there.act(ask, Answer(value=ask.question.options[0].value))
    await there.service.late_answer_tracker.save_seen([ask.id], SeenState.SEEN)
    await page.goto(there.page(ask))


async def answered(page: Page, there: Site) -> None:
    """Open the page of a form that was answered, with its record."""
    ask = await there.ask(*MIGRATION, agent="release-bot", origin={"project": "app"})
    for value in (True, "production", "Run it at night."):
        ask = await there.act(ask, Answer(value=value))
    await page.goto(there.page(ask))
    await page.locator("details.record summary").click()


async def denied_meanwhile(page: Page, there: Site) -> None:
    """Open the page of a permission whose host was told no, because nobody had answered."""
    ask = await permission(there, SHELL, agent="ann-laptop")
    await there.service.approval_leases.report_no_answer(ask.id)
    await page.goto(there.page(ask))


TWELVE: Final[tuple[tuple[str, str, str, Tool], ...]] = (
    ("ann-laptop", "app", "claude", EDIT),
    ("ann-laptop", "app", "claude", SHELL),
    ("ann-laptop", "app", "claude", ("ExitPlanMode", {"plan": PLAN})),
    ("ann-laptop", "app", "claude", FETCH),
    ("ci-bot", "infra", "codex", ("Bash", {"command": "terraform apply plan.out\nterraform output -json > out.json"})),
    ("ci-bot", "infra", "codex", MCP_CALL),
    ("ci-bot", "infra", "codex", ("Write", {"file_path": "/src/infra/backup.tf", "content": BACKUP})),
    ("ci-bot", "infra", "codex", ("Bash", {"command": "rm -rf /var/lib/app/cache"})),
    ("bens-mac", "site", "gemini", ("run_shell_command", {"command": "npm publish --access public"})),
    ("bens-mac", "site", "gemini", ("replace", REPLACEMENT)),
    ("bens-mac", "site", "gemini", ("google_web_search", {"query": "publish a scoped package"})),
    ("bens-mac", "site", "gemini", ("Task", {"description": "Check the links", "prompt": "Follow each link."})),
)  # fmt: skip
"""Twelve prompts of three agents: the agent, its project, its host and what it wants to do."""


async def inbox(page: Page, there: Site) -> None:
    """Open the inbox with twelve prompts of three agents."""
    for agent, project, hook, tool in TWELVE:
        await permission(there, tool, agent=agent, project=project, hook=hook)
    await page.goto(there.url + INBOX)


async def history(page: Page, there: Site) -> None:
    """Open the history of asks that ended in each way."""
    for show in (denied_meanwhile, answered, allowed, permitted(NEW_FILE)):
        await show(page, there)
    await page.goto(f"{there.url}{INBOX}/history")


PLOT_SENT: Final[dict[str, Any]] = {
    "files": [sent("latency.png", plot(), "Latency before and after, over an hour")],
}
PLOTTED: Final = {
    "id": "q",
    "text": "Roll the new version back?",
    "answer_type": "boolean",
    "context": "The new version (red) has become slower for ten minutes:\n\n![Latency](file:latency.png)",
}
LAYOUTS_SENT: Final[dict[str, Any]] = {
    "files": [
        sent("side.png", layout(side=True), "Menu at the side"),
        sent("top.png", layout(side=False), "Menu on top"),
    ],
}
LAYOUTS: Final = {
    "question": "Which layout?",
    "header": "Layout",
    "multiSelect": False,
    "options": [
        {
            "label": "At the side",
            "description": "Room for 20 entries",
            "preview": "![Side](file:side.png)",
        },
        {"label": "On top", "description": "Room for 6", "preview": "![Top](file:top.png)"},
    ],
}
COMPARED: Final = {
    "id": "q",
    "text": "Is the menu better on top?",
    "answer_type": "boolean",
    "context": "Before and after:\n\n![Before](file:side.png) ![After](file:top.png)",
}


KINDS: Final[dict[str, Shown]] = {
    "shell": permitted(SHELL),
    "edit": permitted(EDIT),
    "new file": permitted(NEW_FILE),
    "plan": permitted(("ExitPlanMode", {"plan": PLAN})),
    "MCP call": permitted(MCP_CALL),
    "question": asked(QUESTION),
    "form": asked(FORM),
    "plot": asked(PLOTTED, **PLOT_SENT),
    "layouts": asked(name="AskUserQuestion", arguments={"questions": [LAYOUTS]}, **LAYOUTS_SENT),
    "before and after": asked(COMPARED, **LAYOUTS_SENT),
    "end of the turn": ending_the_turn,
    "allowed": allowed,
    "answered": answered,
    "denied meanwhile": denied_meanwhile,
    "inbox": inbox,
    "history": history,
}

"""The extension for teams: people connect their own agents, and link their accounts to their pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback_teams.settings import OnboardingSettings

if TYPE_CHECKING:
    from answerback.ports.commands import Command
    from answerback.ports.operation import ApiCall, Operation
    from answerback.ports.plugin import Strength


class SignInsExtension(Extension):
    """People connect their own agents, by the device authorization grant."""

    name = "sign_ins"
    order = 4
    table = "onboarding"
    settings = OnboardingSettings
    schema_tables = (
        SchemaTable("sign_ins", pruned=("id", "until"), clock_set_back="DELETE FROM sign_ins"),
        SchemaTable(
            "agent_tokens",
            ("token_hash", "name", "owner", "at", "until", "value"),
            pruned=("token_hash", "until"),
            clock_set_back="UPDATE agent_tokens SET until = until - $1",
        ),
    )

    def check(self, configured: Configured) -> None:
        from answerback_teams.onboarding_rules import build_rules

        build_rules(configured)

    def summary(self, configured: Configured) -> Sequence[str]:
        from answerback_teams.onboarding_rules import build_rules, describe

        return (f"agents that people connect: {describe(build_rules(configured))}",)

    def listed_commands(self, configured: Configured) -> Sequence[Command]:
        from answerback_teams.sign_in_commands import listed_commands

        return listed_commands(configured.labels) if configured.table.owners else ()

    def operations(self) -> Sequence[Operation[ApiCall]]:
        from answerback_teams.agent_operations import AGENT_OPERATIONS

        return AGENT_OPERATIONS

    async def open(self, parts: ServiceParts) -> Running | None:
        if not parts.configured.uses_tokens:
            return None
        from answerback_teams.running_sign_ins import RunningSignIns

        return RunningSignIns(parts)


class AccountLinksExtension(Extension):
    """People link accounts in chats to their pages without the operator, where the switch ``people_link`` is on."""

    name = "account_links"
    order = 6
    table = "people_link"
    settings = bool
    schema_tables = (SchemaTable("account_links", ("account", "revision", "value")),)

    def listed_commands(self, configured: Configured) -> Sequence[Command]:
        from answerback_teams.account_links import link_command

        return (link_command(configured.labels),) if configured.table else ()

    def strengths(self, configured: Configured) -> Sequence[Strength]:
        return ("links",) if configured.table else ()

    def operations(self) -> Sequence[Operation[ApiCall]]:
        from answerback_teams.link_operations import LINK_OPERATIONS

        return LINK_OPERATIONS

    async def open(self, parts: ServiceParts) -> Running | None:
        if not parts.configured.table:
            return None
        from answerback_teams.running_links import RunningLinks

        running = RunningLinks(parts)
        await running.links.refresh()
        return running

"""The table of the configuration."""

from __future__ import annotations

from answerback.ports.settings_tables import Names, Secrets, Table


class CallbackSettings(Table):
    """Where webhooks may go, and the secrets that sign them if there are no agent tokens."""

    allow: Names = ()
    """Allowed hosts and networks, in addition to loopback and public addresses."""
    secret: Secrets = ()

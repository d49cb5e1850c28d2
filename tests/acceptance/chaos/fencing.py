"""Proof that no leader acted after its lease was over: the database itself notes who acted under which epoch.

For every action, a trigger notes the connection that made it, whether its statement checked the lease, and the lease
as seen in that transaction, which no other transaction can change before the commit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tests.acceptance.chaos.cluster import Stage

_WATCH: Final = (
    """CREATE TABLE acted (n bigserial, ask_id text, connection text, fenced boolean, holder text,
        epoch bigint, held boolean)""",
    """CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO acted (ask_id, connection, fenced, holder, epoch, held)
        SELECT NEW.ask_id, current_setting('application_name'), current_query() LIKE '%FROM leases WHERE%',
            holder, epoch, until > clock_timestamp()
        FROM (SELECT 1) AS one LEFT JOIN leases ON name = 'discord gateway';
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER watching AFTER INSERT ON record FOR EACH ROW
        WHEN (NEW.kind IN ('answered', 'backed')) EXECUTE FUNCTION watch()""",
)
_FORGET: Final = ("DROP TRIGGER watching ON record", "DROP FUNCTION watch", "DROP TABLE acted")


def watch(stage: Stage) -> None:
    """Install the trigger in the database."""
    for statement in _WATCH:
        stage.run(statement)


def forget(stage: Stage) -> None:
    """Remove the trigger again: other tests use the database too."""
    for statement in _FORGET:
        stage.run(statement)


def verify(stage: Stage, typed: Collection[str]) -> int:
    """Assert that whoever acted under the lease held it, in the newest epoch; return the number of epochs.

    Args:
        typed: the asks answered by typed words alone, which only the holder of the lease receives.
    """
    acted = stage.run(
        "SELECT ask_id, connection, fenced, holder, epoch, held FROM acted ORDER BY n"
    )
    newest, holders = 0, dict[int, str]()
    for ask_id, connection, fenced, holder, epoch, held in acted:
        assert fenced or ask_id not in typed, f"{ask_id} was answered by a process without a lease"
        if not fenced:
            continue
        about = f"{connection} ({stage.holders[str(connection)]}) in epoch {epoch} of {holder}"
        assert held, f"{about}: the lease had expired"
        assert holder == stage.holders[str(connection)], f"{about}: another process held the lease"
        assert isinstance(epoch, int)
        assert holders.setdefault(epoch, str(holder)) == holder, (
            f"{about}: two processes shared the epoch"
        )
        assert epoch >= newest, f"{about}: epoch {newest} had begun"
        newest = epoch
    [(epochs,)] = stage.run(
        "SELECT coalesce(max(epoch), 0) FROM leases WHERE name = 'discord gateway'"
    )
    assert isinstance(epochs, int)
    return epochs

"""A message explains on its own what the answer will do: a migration of thirty lines, with a table and a diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.adapters.slack.rig import LABELS, rig

MIGRATION = """\
BEGIN;
SET LOCAL lock_timeout = '2s';

ALTER TABLE orders ADD COLUMN region text;
ALTER TABLE orders ADD COLUMN shipped_at timestamptz;

UPDATE orders o
   SET region = c.region
  FROM customers c
 WHERE c.id = o.customer_id
   AND o.region IS NULL;

ALTER TABLE orders ALTER COLUMN region SET NOT NULL;
ALTER TABLE orders ADD CONSTRAINT orders_region_known
      CHECK (region IN ('eu', 'us', 'apac'));

CREATE TABLE shipments (
    id bigint GENERATED ALWAYS AS IDENTITY,
    order_id bigint NOT NULL REFERENCES orders (id),
    carrier text NOT NULL,
    shipped_at timestamptz NOT NULL,
    PRIMARY KEY (id)
);

DROP INDEX orders_by_customer;
CREATE INDEX orders_by_customer_region
    ON orders (customer_id, region);

DROP TABLE orders_2019;
COMMIT;"""
DIFF = """\
 orders:
-  index: [customer_id]
+  index: [customer_id, region]
+  columns: [region, shipped_at]
-orders_2019:
-  archived: true"""
ROWS = {"orders": "41,203,118", "customers": "1,904,220", "orders_2019": "6,120,004"}
TABLE = "\n".join(
    [
        "| table | rows | after Yes |",
        "|---|---:|---|",
        f"| orders | {ROWS['orders']} | rewritten, locked for about 40 s |",
        f"| customers | {ROWS['customers']} | read only |",
        f"| orders_2019 | {ROWS['orders_2019']} | **dropped, not restorable** |",
    ]
)
CONTEXT = f"""\
**Yes** applies this to *production* at once; **No** leaves everything as it is.

{TABLE}

```sql
{MIGRATION}
```

The schema file changes with it:

```diff
{DIFF}
```"""
QUESTION = {
    "id": "apply",
    "text": "Apply migration 0042 to production now?",
    "context": CONTEXT,
    "answer_type": "boolean",
}


@pytest.mark.rule("TEXT-4", "TEXT-6")
async def test_a_migration_with_a_table_and_a_diff_can_be_judged_from_its_message_alone(
    tmp_path: Path,
) -> None:
    assert MIGRATION.count("\n") + 1 == 30
    async with rig(tmp_path) as up:
        ask = await up.submit(QUESTION)
        sight = up.ada.sees(up.live(ask))
        lines = [line.strip() for line in sight.text.split("\n")]
        wanted = [*MIGRATION.split("\n"), *DIFF.split("\n"), str(QUESTION["text"])]
        assert [line for line in wanted if line.strip() and line.strip() not in lines] == []
        for table, rows in ROWS.items():
            [row] = [line for line in lines if line.startswith(f"{table} ") and "|" in line]
            assert rows in row
        assert "dropped, not restorable" in sight.text
        assert "Yes applies this to production at once" in sight.text
        # Nothing is cut: the last button has the marks that the rendering leaves out. The buttons are below everything.
        labels = [LABELS.yes, LABELS.no, LABELS.reply, LABELS.end_turn, LABELS.details]
        assert sight.buttons == labels
        assert "…" not in sight.text
        assert sight.text.index("Apply migration 0042") > sight.text.index("archived: true")

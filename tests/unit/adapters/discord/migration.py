"""A question about a database migration, as an agent asks it, with a table and a diff."""

from __future__ import annotations

from typing import Any, Final

DIFF: Final = """\
--- a/schema/orders.sql
+++ b/schema/orders.sql
@@ -12,18 +12,24 @@ create table orders (
   id            bigint generated always as identity primary key,
   customer_id   bigint not null references customers (id),
-  state         text not null,
+  state         order_state not null default 'new',
   placed_at     timestamptz not null default now(),
-  total         numeric not null,
-  currency      text,
+  total_cents   bigint not null check (total_cents >= 0),
+  currency      char(3) not null default 'EUR',
   note          text
 );
-create index orders_state on orders (state);
+create index concurrently orders_open on orders (customer_id)
+  where state in ('new', 'paid');
+
+create type order_state as enum ('new', 'paid', 'sent', 'returned');
+
+update orders
+   set total_cents = round(total * 100),
+       currency = coalesce(currency, 'EUR');
+
+alter table orders
+  alter column state type order_state using state::order_state,
+  drop column total;
 create view open_orders as
-  select * from orders where state = 'new';
+  select * from orders where state in ('new', 'paid');
"""
TABLE: Final = (
    "step",
    "rows",
    "lock",
    "backfill",
    "2.4 million",
    "none",
    "alter",
    "exclusive, 3 s",
)
CONTEXT: Final = f"""\
**If you say Yes**, I run `0042_order_state.sql` on **production** at once, then deploy `api` 3.8. \
`total` is dropped: going back needs last night's backup.

| step | rows | lock |
|---|---|---|
| backfill | 2.4 million | none |
| alter | all | exclusive, 3 s |
| index | 310,000 | none |

```diff
{DIFF}```

If you say No, nothing runs, and the release waits.
"""
QUESTION: Final[dict[str, Any]] = {
    "id": "apply",
    "text": "Apply migration 0042 to production now?",
    "context": CONTEXT,
    "answer_type": "boolean",
}

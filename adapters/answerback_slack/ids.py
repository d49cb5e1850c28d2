"""The forms of Slack's ids, by which settings and payloads are checked."""

from __future__ import annotations

import re
from typing import Final

CHANNEL: Final = re.compile(r"[CGD][A-Z0-9]{1,30}")
TS: Final = re.compile(r"[0-9]{1,16}\.[0-9]{1,9}")
"""The ts of a message, or of the first message of a thread."""
USER: Final = re.compile(r"[UW][A-Z0-9]{1,30}")
GROUP: Final = re.compile(r"S[A-Z0-9]{1,30}")

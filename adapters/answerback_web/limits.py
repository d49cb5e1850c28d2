"""Limits of the web page. No platform imposes them, so each states its reason."""

from __future__ import annotations

from typing import Final

DETAIL_LENGTH: Final = 160
"""UTF-16 units below a headline in the inbox: two lines."""
ROW_UNITS: Final = 240
"""UTF-16 units that a row of the inbox shows of what is to be decided, so that four rows fit on a phone."""
ROW_LINES: Final = 3
"""Lines of it."""
FILTER_LENGTH: Final = 200
"""Characters of each field of the search form that are used."""
MAX_POST: Final = 1024 * 1024
"""Bytes of a form post: 20,000 characters in any field of a large form, percent-encoded."""
MAX_SEALED: Final = 2 * MAX_POST
"""Bytes of an encrypted request: a form as a string of JSON, which may escape it, and its address."""
MAX_POST_FIELDS: Final = 5_000
"""Fields of a form post: enough for every option of the largest question, with a margin."""
FILTER_FROM: Final = 12
"""The number of options from which a filter box is offered."""
RADIOS_UP_TO: Final = 8
"""Up to this many choices of a form field are radio buttons; more are a menu."""
MAX_ROW_INPUTS: Final = 1_000
"""Inputs of all rows of a field, far below what a post may have."""
MAX_ONE_LINE: Final = 200
"""A field whose maximum length is at most this many characters is one line."""
BUTTON_LABEL: Final = 80
"""Units of the longest label of a button that does not decide about a permission: one line of the page."""
NUMBER_KEYS: Final = 9
"""Options that have a number key."""
MAX_OPEN_ANSWERS: Final = 400
"""Up to this many characters, the context of an answer in an ended ask is expanded."""
CODE_LINES: Final = 40
"""Lines of code that are shown in full; longer code is collapsed, with its number of lines."""
CODE_LINES_SHOWN: Final = 25
"""Lines of collapsed code that stay visible."""
MAX_HIGHLIGHTED: Final = 4_000
"""Characters of code that are highlighted: a lexer may take time quadratic in the length."""
LONGEST_WORD: Final = 12
"""Characters of a word in a table that is never broken: three such columns fit on a phone."""
MAX_RENDERED_INLINE: Final = 1_000
"""Characters of context up to which a page is rendered on the event loop; longer ones use a thread."""
PING_SECONDS: Final = 15.0
"""Seconds between pings on an event stream: less than the 30 s after which common proxies disconnect."""

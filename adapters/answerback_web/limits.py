"""The bounds of the web page: nobody imposes them on us, so each says why it is what it is."""

from __future__ import annotations

from typing import Final

EXCERPT_LENGTH: Final = 160
"""UTF-16 units of a question that the inbox shows: two lines."""
FILTER_LENGTH: Final = 200
"""Characters of each field of the search form that count."""
MAX_POST: Final = 1024 * 1024
"""Bytes of a form post: 20,000 characters in any field of a large form, percent-encoded."""
MAX_POST_FIELDS: Final = 5_000
"""Fields of a form post: every option of the largest question chosen, with room to spare."""
FILTER_FROM: Final = 12
"""Options from which a box to filter them is offered."""
RADIOS_UP_TO: Final = 8
"""Choices of a form's field that are shown all at once; more are a menu."""
MAX_ONE_LINE: Final = 200
"""Characters up to which a field that bounds its length is one line."""
NUMBER_KEYS: Final = 9
"""Options that have a number key."""
MAX_OPEN_ANSWERS: Final = 400
"""Characters of questions and answers up to which they stand open above the next question."""
CODE_LINES: Final = 40
"""Lines of code that stand open; longer code is folded, and says how many lines it has."""
CODE_LINES_SHOWN: Final = 25
"""Lines of folded code that stand open."""
MAX_HIGHLIGHTED: Final = 4_000
"""Characters of code that are coloured: a lexer may take a time that grows with their square."""
MAX_RENDERED_INLINE: Final = 1_000
"""Characters of a context up to which a page is drawn on the event loop; a longer one takes a thread."""
PING_SECONDS: Final = 15.0
"""Between two signs of life on an event stream: under the 30 s after which common proxies hang up."""

"""Send Python's values to PostgreSQL and read them back: any text verbatim, and every integer as a ``bigint``.

PostgreSQL's ``text`` holds every character except U+0000
(https://www.postgresql.org/docs/current/datatype-character.html). That character is written as U+001A and a ``0``, and
U+001A itself as U+001A and a ``1``. JSON texts contain neither, because they escape control characters.
"""

from __future__ import annotations

import re
from typing import Final

from psycopg import postgres
from psycopg.adapt import AdaptersMap
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper, TextLoader

from answerback_storage.rows import invalid_text_error

_WRITTEN: Final = {"\x00": "\x1a0", "\x1a": "\x1a1"}
_READ: Final = {written: character for character, written in _WRITTEN.items()}
_TO_ESCAPE: Final = re.compile("[\x00\x1a]")
_ESCAPED: Final = re.compile("\x1a[01]")


class _Dumper(StrDumper):
    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        if "\x1a" in obj or "\x00" in obj:
            obj = _TO_ESCAPE.sub(lambda match: _WRITTEN[match[0]], obj)
        try:
            return super().dump(obj)
        except UnicodeEncodeError as error:
            raise invalid_text_error(error) from error


class _Loader(TextLoader):
    def load(self, data: bytes | bytearray | memoryview) -> str:
        text = str(super().load(data))
        if "\x1a" in text:
            text = _ESCAPED.sub(lambda match: _READ[match[0]], text)
        return text


ADAPTERS: Final = AdaptersMap(postgres.adapters)
ADAPTERS.register_dumper(str, _Dumper)
# Otherwise a number's size determines its type, and a statement is prepared again for each combination.
ADAPTERS.register_dumper(int, Int8Dumper)
ADAPTERS.register_loader("text", _Loader)

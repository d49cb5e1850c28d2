"""How asks are found by words in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.ports.search import Search, answerer_word
from answerback_storage.search import SqlSearch

_HAS_WORD: Final = "seq IN (SELECT rowid / 2 FROM asks_words WHERE asks_words MATCH {})"


class SqliteSearch(SqlSearch):
    """Search in an SQLite file."""

    def _words(self, wanted: Search) -> Sequence[tuple[str, object]]:
        texts = [f'"{word}"*' for word in wanted.terms]
        texts += [" OR ".join(map(answerer_word, person)) for person in wanted.by]
        return [(_HAS_WORD, text) for text in texts]

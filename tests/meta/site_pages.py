"""Pages of the built documentation that are made from the project, as an mkdocs hook that `.mkdocs.yml` names.

https://www.mkdocs.org/user-guide/configuration/#hooks
"""

import json
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[2]))  # mkdocs runs the hook without the checkout

from answerback.core.labels import Labels
from tests.meta import rules

_RULES = """# Rules and their tests

Each rule of the [specification](specification.md) that is implemented, and the tests that name it with
`@pytest.mark.rule`. A mark on a file stands for all its tests. `make test` fails if a rule has no test.

"""

_LAST_IN_SEARCH = {"specification.md", "specification-tests.md"}
"""Pages that have nearly every word: a search finds the page that explains a word first."""

_ALL_LABELS = "<!-- all labels -->"


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the table of rules and the tests that prove them."""
    files.append(File.generated(config, "specification-tests.md", content=_RULES + rules.table()))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the labels where their marker is, and let the search list the specification after all other pages.

    https://squidfunk.github.io/mkdocs-material/plugins/search/#meta.search.boost
    """
    if page.file.src_uri in _LAST_IN_SEARCH:
        page.meta["search"] = {"boost": 0.01}
    return markdown.replace(_ALL_LABELS, f"```toml\n{labels()}\n```")


def labels() -> str:
    """Build a configuration with all texts that a surface shows, as they are by default."""
    rows = [
        f"{name} = {json.dumps(field.default, ensure_ascii=False)}"
        for name, field in Labels.model_fields.items()
    ]
    return "\n".join(["[labels]", *rows])

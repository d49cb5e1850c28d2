"""Words stand where a text places a picture, if the surface shows pictures elsewhere or not at all."""

from __future__ import annotations

import pytest

from answerback.core.files import AttachedFile
from answerback.core.form import Option
from answerback.core.labels import ENGLISH
from answerback.core.picture_words import option_in_words, pictures_in_words


def _file(name: str, *, alt: str | None = None, media_type: str = "image/png") -> AttachedFile:
    return AttachedFile(
        id=f"file_{name}", name=name, media_type=media_type, bytes=9, sha256="0", alt=alt
    )


FILES = [
    _file("times.csv", media_type="application/octet-stream"),
    _file("old.png"),
    _file("new page.png", alt="The new page"),
]


@pytest.mark.rule("FILE-20")
@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("![Before](file:old.png)", "Picture 1: Before"),
        ("![](file:old.png)", "Picture 1: old.png"),
        ("![](file:<new page.png>)", "Picture 2: The new page"),
        ("![x](file:new%20page.png)", "Picture 2: x"),
        ("a ![b](file:old.png) c\n\n> ![d](file:old.png)", "a Picture 1: b c\n\n> Picture 1: d"),
        ("- ![b](file:old.png)\n- x", "- Picture 1: b\n- x"),
        (
            "![a](file:old.png)  ![b](file:old.png) ![c](file:old.png)",
            "Picture 1: a · Picture 1: b · Picture 1: c",
        ),
        ("`![a](file:old.png)  ![b](file:old.png)`", "`![a](file:old.png)  ![b](file:old.png)`"),
        ("![b](file:other.png)", "![b](file:other.png)"),
        ("![b](file:times.csv)", "![b](file:times.csv)"),
        ("`![b](file:old.png)`", "`![b](file:old.png)`"),
        ("```\n![b](file:old.png)\n```", "```\n![b](file:old.png)\n```"),
        ("**![b](file:old.png)**", "**![b](file:old.png)**"),
        (
            "`![b](file:old.png)` ![b](file:old.png)",
            "`![b](file:old.png)` Picture 1: b",
        ),
        ("\ue0000\ue000 ![b](file:old.png)", "\ue0000\ue000 ![b](file:old.png)"),
        ("![b](https://example.com/a.png)", "![b](https://example.com/a.png)"),
    ],
)
def test_a_reference_becomes_words_unless_it_is_code_or_names_no_picture(
    source: str, shown: str
) -> None:
    assert pictures_in_words(source, FILES, ENGLISH) == shown


@pytest.mark.rule("FILE-20")
def test_the_only_picture_has_no_number() -> None:
    assert pictures_in_words("![A](file:old.png)", FILES[:2], ENGLISH) == "Picture: A"


@pytest.mark.rule("FILE-20")
def test_an_option_that_is_a_picture_says_which_one_and_has_nothing_to_open() -> None:
    option = Option(value="a", label="A", description="Quick", preview=" ![S](file:old.png)\n")
    shown = option_in_words(option, FILES, ENGLISH)
    assert (shown.description, shown.preview) == ("Quick\nPicture 1: S", None)
    more = Option(value="a", label="A", preview="![S](file:old.png) and\nmore")
    shown = option_in_words(more, FILES, ENGLISH)
    assert (shown.description, shown.preview) == (None, "Picture 1: S and\nmore")

"""Lines that an agent wrote wrap: every character of them is inside the window, on a phone and on a desktop."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import settled, tab
from tests.browser.site import Site
from tests.unit.cases import case_call

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WORD = "Donaudampfschiff" * 20
OUTSIDE = """() => {
  const outside = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange();
    if (!node.data.trim() || node.parentElement.closest(".hidden, textarea, details:not([open])")) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.left < 0 || box.right > document.documentElement.clientWidth + 0.5) { outside.push(node.data); break; }
    for (let up = node.parentElement; up.tagName != "MAIN"; up = up.parentElement)
      if (up.scrollWidth > up.clientWidth + 1 && getComputedStyle(up).display != "inline") {
        outside.push(up.outerHTML);
        break;
      }
  }
  return outside;
}"""


@pytest.mark.rule("TEXT-7")
@pytest.mark.parametrize("width", [390, 900])
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("approval-long-line", "x.sh | sh"),
        ("approval-padded-with-spaces", "ls[400 spaces]; touch /tmp/owned"),
    ],
)
async def test_a_command_is_inside_the_window(
    browser: Browser, web_site: Site, width: int, name: str, ends: str
) -> None:
    call = case_call(name)
    ask = await web_site.ask(name=call["name"], arguments=call["arguments"])
    async with tab(browser, viewport={"width": width, "height": 800}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await expect(page.locator(".context")).to_contain_text(ends)
        assert await page.evaluate(OUTSIDE) == []


@pytest.mark.rule("TEXT-7")
@pytest.mark.parametrize("width", [390, 900])
async def test_every_kind_of_text_is_inside_the_window(
    browser: Browser, web_site: Site, width: int
) -> None:
    context = f"""# {WORD}

- {WORD} `{WORD}`

> **{WORD}** https://example.org/{WORD}

| {WORD} | b | c |
|---|---|---|
| a | {WORD} | {WORD} |

```diff
+{WORD}
```
"""
    question = {"id": "q", "text": WORD, "context": context, "answer_type": "select"}
    ask = await web_site.ask({**question, "options": [WORD, "b"]})
    async with tab(browser, viewport={"width": width, "height": 800}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        assert await page.evaluate(OUTSIDE) == []


@pytest.mark.rule("TEXT-9", "TEXT-7")
@pytest.mark.parametrize("width", [390, 900])
async def test_the_tag_of_a_long_header_opens_the_whole_header_inside_the_window(
    browser: Browser, web_site: Site, width: int
) -> None:
    options = [{"label": "a"}, {"label": "b"}]
    question = {"question": "Which?", "header": WORD, "options": options}
    ask = await web_site.ask(name="ask_user_question", arguments={"questions": [question]})
    async with tab(browser, viewport={"width": width, "height": 800}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        whole = page.get_by_text(WORD)
        await expect(whole).not_to_be_visible()
        await page.locator("summary", has_text="Donaudampfs…").press("Enter")
        await expect(page.locator("#header")).to_have_attribute("open", "")
        await expect(whole).to_be_visible()
        assert await page.evaluate(OUTSIDE) == []
    assert not (await web_site.stored(ask)).walk.answers

"""Files are attached on the page by choosing, dropping and pasting, and stay attached until they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer, EndTurn
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.files import CHUNK
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import INBOX, Site
from tests.browser.test_forms import UNTIL_DRAFTS
from tests.unit.adapters.web.examples import TEXT
from tests.unit.picture_samples import PNG

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("FILE-16"),
]
LABELS = Labels()
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0"
CHOOSE = "#files [type=file]"
ROWS = "#files li"
MOVE = """([event, name, bytes]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
  const options = { bubbles: true, cancelable: true, [event === "paste" ? "clipboardData" : "dataTransfer"]: files };
  document.querySelector("main").dispatchEvent(new (event === "paste" ? ClipboardEvent : DragEvent)(event, options));
}"""
"""Drops or pastes a file."""
HOLD = """(answers) => {
  const open = channel.open;
  const released = new Promise((done) => (window.release = done));
  channel.open = async (pair, to, form) => {
    const isPart = form && form.includes("do=attach");
    if (isPart) await released;
    return isPart && answers ? answers[0] : open(pair, to, form);
  };
}"""
"""Holds all parts of files back until `RELEASE`; with an answer, they get that instead of the service's."""
RELEASE = "release()"
NOTICE_CLOSE = """() => {
  const { close } = EventSource.prototype;
  window.closed = new Promise((done) => {
    EventSource.prototype.close = function () {
      close.call(this);
      done();
    };
  });
}"""
"""Lets the page's `closed` end when it stops following its ask."""


def file(name: str, data: bytes = PNG) -> Any:
    return {"name": name, "mimeType": "image/png", "buffer": data}


def names(ask: Ask) -> list[str]:
    return [each.name for given in ask.walk.answers for each in given.files]


async def press_answer(page: Page) -> None:
    await settled(page)
    await page.get_by_role("button", name="Answer", exact=True).click()


async def answer(page: Page) -> None:
    await press_answer(page)
    await expect(page.locator(".ended")).to_be_visible()


async def test_files_are_chosen_dropped_and_pasted_and_taken_away_again(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.locator(CHOOSE).set_input_files(
            [file("a.png"), file("long.bin", bytes(CHUNK + 9))]
        )
        await expect(page.locator("#files [name=file]")).to_have_count(2)
        await page.evaluate(MOVE, ["drop", "dropped.png", [*PNG]])
        await page.evaluate(MOVE, ["paste", "pasted.png", [*PNG]])
        await expect(page.locator("#files [name=file]")).to_have_count(4)
        await expect(page.locator(ROWS).nth(1)).to_contain_text("262.2 kB")
        await page.get_by_role("button", name=f"{LABELS.remove}: a.png").click()
        await expect(page.locator(ROWS)).to_have_count(3)
        await answer(page)
        await expect(page.get_by_role("img", name="dropped.png")).to_be_visible()
    assert names(await web_site.stored(ask)) == ["long.bin", "dropped.png", "pasted.png"]


async def test_an_answer_waits_until_its_files_have_arrived(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.locator(CHOOSE).set_input_files(file("large.bin", bytes(5 * CHUNK)))
        await answer(page)
    assert names(await web_site.stored(ask)) == ["large.bin"]


async def test_an_answer_waits_for_several_files_and_for_those_that_are_added_meanwhile(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files([file(f"{n}.png") for n in range(3)])
        await expect(page.locator(ROWS)).to_have_count(3)
        await page.evaluate(MOVE, ["drop", "dropped.png", [*PNG]])
        await press_answer(page)
        await page.evaluate(MOVE, ["paste", "pasted.png", [*PNG]])
        await page.evaluate(RELEASE)
        await expect(page.locator(".ended")).to_be_visible()
    expected = ["0.png", "1.png", "2.png", "dropped.png", "pasted.png"]
    assert names(await web_site.stored(ask)) == expected


async def test_an_answer_does_not_go_without_a_file_that_is_refused_while_it_waits(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files(file("a.png"))
        await press_answer(page)
        await page.evaluate("document.getElementById('files').dataset.most = 10")
        await page.evaluate(MOVE, ["drop", "huge.png", [*PNG]])
        await expect(page.locator("#files .error")).to_contain_text("huge.png is too large")
        await page.evaluate(RELEASE)
        await expect(page.locator("#files [name=file]")).to_have_count(1)
        await answer(page)  # now without it
    assert names(await web_site.stored(ask)) == ["a.png"]


async def test_a_file_that_cannot_be_read_is_refused_by_name_and_the_answer_can_go_without_it(
    browser: Browser, web_site: Site, tmp_path: Path
) -> None:
    ask = await web_site.ask(TEXT)
    gone = tmp_path / "gone.bin"
    gone.write_bytes(bytes(3 * CHUNK))
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.evaluate(HOLD)
        await page.locator("#text").fill("see the file")
        await page.locator(CHOOSE).set_input_files(gone)
        await expect(page.locator("#files progress")).to_be_visible()
        gone.unlink()
        await press_answer(page)
        await page.evaluate(RELEASE)
        failed = LABELS.attach_unreadable.format(name="gone.bin")
        await expect(page.locator("#files .error")).to_have_text(failed)
        await expect(page.locator(ROWS)).to_have_count(0)
        await answer(page)
    assert names(await web_site.stored(ask)) == []


async def test_an_answer_goes_once_a_file_that_does_not_arrive_is_removed(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files([file("a.png"), file("b.png")])
        await press_answer(page)
        for name in ("a.png", "b.png"):
            await page.get_by_role("button", name=f"{LABELS.remove}: {name}").click()
        await expect(page.locator(".ended")).to_be_visible()
    assert names(await web_site.stored(ask)) == []


@pytest.mark.parametrize(
    "given",
    [None, {"status": 200, "page": "<!doctype html>"}, {"status": 200, "page": "{}"}],
    ids=["a connection that dies", "a page", "nothing"],
)
async def test_whatever_happens_to_an_upload_the_answer_can_be_sent_afterwards(
    browser: Browser, web_site: Site, given: object
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.clock.install()
        await page.goto(web_site.page(ask))
        await page.evaluate(HOLD, [given])
        await page.locator(CHOOSE).set_input_files(file("a.png"))
        await press_answer(page)
        await page.evaluate(RELEASE)
        for _ in range(4):  # the tries of the upload
            await page.clock.fast_forward(4_000)
        failed = LABELS.attach_failed.format(name="a.png")
        await expect(page.locator("#files .error")).to_have_text(failed)
        await answer(page)
    assert names(await web_site.stored(ask)) == []


async def test_an_answer_that_could_not_be_sent_can_be_sent_again(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    page = await browser.new_page()  # whose script may fail
    await page.goto(web_site.page(ask))
    await page.locator("#text").fill("typed")
    await page.evaluate("window.open_ = channel.open")
    await page.evaluate("() => { channel.open = () => { throw new Error('anything') } }")
    async with page.expect_event("pageerror"):
        await press_answer(page)
    await page.evaluate("channel.open = open_")
    await answer(page)
    await page.context.close()


async def test_a_page_whose_file_was_refused_follows_its_ask_again(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT, {**TEXT, "id": "other", "text": "And then?"})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.locator("#text").fill("typed")
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files(file("photo.heic", HEIC))
        await press_answer(page)
        await page.evaluate(NOTICE_CLOSE)
        await web_site.act(ask, Answer(value="Kim's"))
        await page.evaluate("closed")
        await page.evaluate(RELEASE)
        await expect(page.locator("#files .error")).to_contain_text("as JPEG or PNG")
        await expect(page.locator("#live")).to_contain_text(LABELS.moved_on)


async def test_files_that_still_wait_to_be_sent_survive_a_refresh(
    browser: Browser, web_site: Site
) -> None:
    ask, other = await web_site.ask(TEXT), await web_site.ask({**TEXT, "id": "other"})
    async with tab(browser) as page:
        await page.goto(f"{web_site.url}{INBOX}?open={ask.id}")
        await settled(page)
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files([file(f"{n}.png") for n in range(3)])
        await expect(page.locator("#files progress").first).to_be_visible()
        await web_site.act(other, EndTurn())
        await expect(page.locator(".entry")).to_have_count(1)
        await page.evaluate(RELEASE)
        await expect(page.locator("#files [name=file]")).to_have_count(3)
        await press_answer(page)
        await expect(page.get_by_text(LABELS.inbox_empty)).to_be_visible()
    assert names(await web_site.stored(ask)) == ["0.png", "1.png", "2.png"]


async def test_an_answer_keeps_its_files_when_another_page_is_opened_while_they_are_sent(
    browser: Browser, web_site: Site
) -> None:
    ask, other = await web_site.ask(TEXT), await web_site.ask({**TEXT, "text": "And then?"})
    async with tab(browser) as page:
        await page.goto(f"{web_site.url}{INBOX}?open={ask.id}")
        await settled(page)
        await page.evaluate(HOLD)
        await page.locator(CHOOSE).set_input_files([file("a.png"), file("b.png")])
        await expect(page.locator("#files progress").first).to_be_visible()
        await press_answer(page)
        await page.locator(f".entry[data-ask={other.id}] > a").click()
        await expect(page.locator(".detail #question")).to_have_text("And then?")
        await page.evaluate(RELEASE)
        await expect(page.locator(".entry")).to_have_count(1)
    assert names(await web_site.stored(ask)) == ["a.png", "b.png"]


async def test_what_is_attached_survives_a_reload_and_a_refusal(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask({"id": "b", "text": "Ship it?", "answer_type": "boolean"})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await show_other_ways(page)
        await page.locator(CHOOSE).set_input_files(file("a.png"))
        await expect(page.locator("#files [name=file]")).to_have_count(1)
        await page.evaluate(UNTIL_DRAFTS, 1)
        await page.reload()
        await expect(page.locator(ROWS)).to_contain_text("a.png")
        await settled(page)
        await page.get_by_role("button", name="Yes", exact=True).click()
        await expect(page.locator("#files .error")).to_contain_text("Files cannot go with this")
        await expect(page.locator(ROWS)).to_contain_text("a.png")
        await settled(page)
        await page.locator("#replying > summary").click()
        await page.locator("#reply").fill("See the picture")
        await page.locator("#reply-sheet button").click()
        await expect(page.get_by_role("img", name="a.png")).to_be_visible()
    assert [each.name for each in (await web_site.stored(ask)).walk.reply_files] == ["a.png"]


async def test_what_is_dropped_on_a_question_that_is_only_clicked_goes_with_a_message(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask({"id": "b", "text": "Ship it?", "answer_type": "boolean"})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await expect(page.locator("#files")).to_be_hidden()
        await page.evaluate(MOVE, ["drop", "dropped.png", [*PNG]])
        await expect(page.locator(ROWS)).to_be_visible()


async def test_a_file_that_is_too_large_is_refused_at_once_and_the_answer_stays(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.locator("#text").fill("a long thought")
        await page.evaluate("document.getElementById('files').dataset.most = 10")
        await page.locator(CHOOSE).set_input_files(file("huge.png"))
        await expect(page.locator("#files .error")).to_contain_text("huge.png is too large")
        await page.evaluate("document.getElementById('files').dataset.most = 10000")
        await page.locator(CHOOSE).set_input_files(file("photo.heic", HEIC))
        await expect(page.locator("#files .error")).to_contain_text("as JPEG or PNG")
        await expect(page.locator("#text")).to_have_value("a long thought")
        await expect(page.locator(ROWS)).to_have_count(0)

"""Whatever the pages' scripts and the worker request is listed here, with the reason why it gives nothing away.

A program that has taken the service's port receives what they send. So a request either states nothing that is secret,
or goes through `channel.open`, which encrypts it for a service that has just proved itself.
"""

from __future__ import annotations

import re
from importlib import resources

import pytest

from answerback_web.responses import HEADERS

pytestmark = pytest.mark.rule("WEB-10")

REQUESTS = {
    "channel.js": {
        "return fetch(new URL(path, root)": "the only fetch; its paths are the two below",
        'send("a/-/proof", { headers': "a nonce, and the id of a page",
        'send("a/-/proof")).ok': "where nothing can be proved: nothing at all",
        'send("a/-/sealed"': "encrypted",
    },
    "page.js": {
        "source = new EventSource(document.body.dataset.events)": "a token that names no page, after a proof",
        'window.open(url.href, "_blank", "noopener")': "a person's own click, after a proof",
        "location.replace(location.href)": "only where nothing can be proved, when a person goes back",
        "else location.assign(row)": "only where nothing can be proved, a person's own click",
        "navigator.serviceWorker.register(worker": "the worker's script, which everybody may read",
        "registration.update()": "the worker's script, which everybody may read",
        "link.href = manifest": "when the page was opened, after a proof",
        "link.href = canProve ?": "a link that a person may click",
        "again.href = href": "a link that a person may click",
        'full.href = "#main"': "a place on the page",
        "link.href = resolve(": "a link that a person may click",
    },
    "undo.js": {
        "await channel.deliver(each.sealed, true)": "encrypted",
    },
    "worker.js": {
        "await self.clients.openWindow(channel.urlOf(`/inbox/-/": "an address that names nobody, after a proof",
    },
}
"""The code that makes a browser request something, by script, and what the request states."""

REQUESTING = re.compile(
    r"\bfetch\(|\.deliver\(|\bsend\(\"|XMLHttpRequest|sendBeacon|EventSource\(|WebSocket\(|WebTransport|importScripts|import\("
    r"|openWindow\(|window\.open\(|location\.(?:assign|replace|reload)\(|location(?:\.href)? = |history\.go\("
    r"|\.register\(|\.update\(|\.(?:src|href|action) = |\.submit\(|requestSubmit\(|navigate\(|postMessage\("
)
"""The calls that can make a browser send a request."""
SENT_ENCRYPTED = ("current.requestSubmit(button)", "form().requestSubmit(button)")
"""Submits a form, which the page's handler of that event sends through `channel.open`."""


PACKAGES = {"worker.js": "answerback_push"}
"""The packages of scripts that are not the page's own."""


def _script(name: str) -> str:
    package = PACKAGES.get(name, "answerback_web")
    return (resources.files(package) / "static" / name).read_text("utf-8")


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_of_a_script_is_listed_with_what_it_states(name: str) -> None:
    lines = [line for line in _script(name).splitlines() if not line.strip().startswith("//")]
    known = (*REQUESTS[name], *SENT_ENCRYPTED)
    requests = [line for line in lines if REQUESTING.search(line)]
    assert requests
    assert [line for line in requests if not any(each in line for each in known)] == [], (
        "send it through channel.open, or list it with what it states"
    )


@pytest.mark.parametrize("name", ["drafts.js", "rows.js", "comments.js"])
def test_what_keeps_what_is_typed_requests_nothing(name: str) -> None:
    assert REQUESTING.search(_script(name)) is None


def test_forms_are_submitted_by_the_browser_only_where_nothing_can_be_proved() -> None:
    handler = _script("page.js").split('document.addEventListener("submit"')[1].split("\n  });")[0]
    assert re.search(r"else if \(canProve\) \{\s+event\.preventDefault\(\);\s+send\(", handler)


def test_no_request_states_the_address_of_the_page_that_sends_it() -> None:
    assert HEADERS["Referrer-Policy"] == "strict-origin"

"""The proof that an answer comes from the service, as the page's script checks it."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping

import pytest

from answerback_web.page_proof import CHALLENGE_HEADER, PROOF_HEADER
from tests.browser.site import INBOX, Site
from tests.unit.adapters.web.examples import TEXT, path
from tests.unit.adapters.web.reader import Document, Reader, reader

NONCE = "00112233445566778899aabbccddeeff"

pytestmark = pytest.mark.rule("WEB-10")


def pair_of(page: Document) -> tuple[str, str]:
    """Return the id and the secret that a page carries."""
    found = re.search(r'data-proof="([0-9a-f]{32})\.([0-9a-f]{64})"', page.markup)
    assert found is not None
    return found[1], found[2]


async def proof_of(
    visitor: Reader, address: str, page_id: str, headers: Mapping[str, str] | None = None
) -> tuple[bytes, str | None]:
    """Challenge the service; return the body and its proof."""
    sent = {CHALLENGE_HEADER: f"{page_id}.{NONCE}", **(headers or {})}
    async with visitor.http.get(address, headers=sent, allow_redirects=False) as response:
        return await response.read(), response.headers.get(PROOF_HEADER)


def expected(secret: str, body: bytes) -> str:
    """Return the proof that a page's script accepts."""
    return hmac.digest(bytes.fromhex(secret), NONCE.encode() + body, "sha256").hex()


async def test_every_page_can_check_what_it_fetches(web_site: Site, visitor: Reader) -> None:
    ask = await web_site.ask(TEXT)
    read_only = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
    for opened in ("/", INBOX, f"{INBOX}/history", path(ask), read_only, "/a/nothing"):
        page_id, secret = pair_of(await visitor.open(opened))
        for fetched in ("/a/-/proof", opened, INBOX):
            body, proof = await proof_of(visitor, fetched, page_id)
            assert proof == expected(secret, body), (opened, fetched)


async def test_pages_share_no_secret_and_a_secret_is_for_one_host(
    web_site: Site, visitor: Reader
) -> None:
    first, second = pair_of(await visitor.open("/")), pair_of(await visitor.open("/"))
    assert first[0] != second[0]
    assert first[1] != second[1]
    body, proof = await proof_of(visitor, "/a/-/proof", first[0])
    assert proof != expected(second[1], body)
    async with reader(web_site.public_url) as elsewhere:
        body, proof = await proof_of(elsewhere, "/a/-/proof", first[0])
        assert proof != expected(first[1], body)
        host = {"Host": web_site.url.removeprefix("http://")}
        body, proof = await proof_of(visitor, "/a/-/proof", first[0], host)
        assert proof == expected(first[1], body)
    # The local listener answers for no other host, so a program on another port can forward nothing to it.
    host = {"Host": "127.0.0.1:1"}
    assert (await proof_of(visitor, "/a/-/proof", first[0], host))[1] is None


@pytest.mark.parametrize("challenge", ["", "x", NONCE, f"{NONCE}.{NONCE}0", f"{NONCE}.{NONCE}\x80"])
async def test_what_is_no_challenge_gets_no_proof(visitor: Reader, challenge: str) -> None:
    async with visitor.http.get("/", headers={CHALLENGE_HEADER: challenge}) as response:
        assert response.status == 200
        assert PROOF_HEADER not in response.headers

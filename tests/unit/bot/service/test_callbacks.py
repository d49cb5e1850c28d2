"""Where webhooks may go: addresses, names and what they resolve to, each refused with an explanation."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.errors import ConfigError, InvalidCallError
from answerback.outbox.address_policy import AddressRefusedError, AddressRules, GuardedResolver
from answerback.ports.store_values import DeliveryState
from answerback_webhooks.sender import CallbackPolicy
from tests.fakes.receiver import receiving
from tests.unit.bot.outbox_support import SECRET, Names, outbox

REFUSED = [
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "169.254.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "0.0.0.0",
    "224.0.0.1",
    "239.1.1.1",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "240.0.0.1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00:808:808",
    "192.0.0.192",
    "::ffff:192.0.0.192",
    "64:ff9b::c000:c0",
    "3fff::1",
    "2002:a9fe:a9fe::1",
    "2001:0:1:1:1:1:5601:5601",
    "::10.0.0.1",
]
ALLOWED = ["127.0.0.1", "127.8.8.8", "::1", "93.184.215.14", "2606:2800:21f:cb07::1", "1.1.1.1"]


@pytest.mark.rule("WEBHOOK-10")
@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_neither_public_nor_loopback_is_refused(address: str) -> None:
    rules = AddressRules()
    assert rules.refusal_reason(address, address) is not None
    host = f"[{address.replace('%', '%25')}]" if ":" in address else address
    assert rules.url_refusal_reason(f"http://{host}/hook") is not None


@pytest.mark.parametrize("address", ALLOWED)
def test_public_and_loopback_addresses_are_allowed(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert AddressRules().url_refusal_reason(f"https://{host}:8443/hook") is None


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_",
        "//example.com/hook",
        "example.com/hook",
        "http://",
        "http:///hook",
        "http://user@example.com/",
        "http://user:pass@example.com/",
        "http://:pass@example.com/",
        "http://example.com@169.254.169.254/",
        "http://127.0.0.1\\@169.254.169.254/",
        "http://exa mple.com/",
        "http://example.com/\r\nX-Injected: 1",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://169.254.43518/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://[::1/",
        "http://[v1.a:b.example.com]/",
    ],
)
def test_an_unsuitable_webhook_url_is_refused_with_an_explanation(url: str) -> None:
    refused = AddressRules().url_refusal_reason(url)
    assert refused is not None
    assert refused.startswith("callback.url")


@pytest.mark.rule("WEBHOOK-10")
@pytest.mark.parametrize(
    ("allow", "host", "address"),
    [
        ("10.0.0.0/8", "hooks.example", "10.1.2.3"),
        ("10.1.2.3", "10.1.2.3", "10.1.2.3"),
        ("fd00::/8", "hooks.example", "fd00::7"),
        ("[fd00::7]", "hooks.example", "fd00::7"),
        ("64:ff9b:1::/48", "hooks.example", "64:ff9b:1::808:808"),
        ("169.254.169.254", "169.254.169.254", "169.254.169.254"),
        ("hooks.internal", "hooks.internal", "10.0.0.9"),
        ("hooks.internal", "HOOKS.internal.", "10.0.0.9"),
        ("*.internal", "a.b.internal", "192.168.0.9"),
    ],
)
def test_addresses_listed_by_the_operator_are_allowed(allow: str, host: str, address: str) -> None:
    assert AddressRules().refusal_reason(host, address) is not None
    assert AddressRules([allow]).refusal_reason(host, address) is None


def test_a_listed_name_still_cannot_resolve_to_the_metadata_service() -> None:
    rules = AddressRules(["hooks.internal", "*.internal"])
    for address in ("169.254.169.254", "fe80::1", "0.0.0.0", "ff02::1"):
        assert rules.refusal_reason("hooks.internal", address) is not None
    assert rules.refusal_reason("internal", "10.0.0.1") is not None
    assert rules.refusal_reason("hooks.internal.example", "10.0.0.1") is not None


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "http://hooks", "a b", "", "127.1"])
def test_an_invalid_entry_is_an_error_that_names_the_key(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"callbacks\.allow"):
        AddressRules([entry])


@pytest.mark.rule("WEBHOOK-12")
def test_without_a_secret_a_callback_is_refused_with_the_key_to_set() -> None:
    callbacks = CallbackPolicy(AddressRules(), {"ci": [SECRET]})
    url = "https://example.com/hook"
    assert callbacks.check(url, "ci") is None
    assert "agents.bot.callback_secret" in (callbacks.check(url, "bot") or "")
    assert "callbacks.secret" in (callbacks.check(url, None) or "")
    assert "user name" in (callbacks.check("https://a@example.com/", "ci") or "")


async def test_a_name_resolves_only_to_addresses_that_may_be_reached() -> None:
    names = Names()
    names.answers["mixed.example"] = [["10.0.0.1", "127.0.0.1", "::ffff:192.168.0.1"]]
    names.answers["inside.example"] = [["10.0.0.1", "fe80::1"]]
    names.answers["empty.example"] = [[]]
    resolver = GuardedResolver(AddressRules(), names)
    assert [one["host"] for one in await resolver.resolve("mixed.example", 80)] == ["127.0.0.1"]
    with pytest.raises(AddressRefusedError, match=r"inside\.example, which resolves to 10"):
        await resolver.resolve("inside.example", 80)
    with pytest.raises(AddressRefusedError):
        await resolver.resolve("empty.example", 80)


async def test_a_resolver_result_that_is_not_an_address_is_refused() -> None:
    names = Names()
    names.answers["odd.example"] = [["not-an-address"]]
    resolver = GuardedResolver(AddressRules(), names)
    with pytest.raises(AddressRefusedError, match="not-an-address is not an address"):
        await resolver.resolve("odd.example", 80)
    await resolver.close()
    assert names.closed


@pytest.mark.rule("WEBHOOK-10")
async def test_a_submission_with_a_forbidden_callback_is_refused_and_asks_nobody(
    tmp_path: Path,
) -> None:
    async with outbox(tmp_path) as box:
        with pytest.raises(InvalidCallError) as refused:
            await box.ask("http://169.254.169.254/latest/meta-data")
        (problem,) = refused.value.problems
        assert problem.pointer == "/callback/url"
        assert "link-local" in problem.message
        assert (await box.store.asks.page()).rows == ()


@pytest.mark.rule("WEBHOOK-10")
@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "fd00::1", "::ffff:10.0.0.1"])
async def test_a_name_that_resolves_to_a_private_address_is_not_called_and_only_the_log_says_why(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with outbox(tmp_path) as box, box.draining():
        box.names.answers["hooks.example"] = [[address]]
        ask = await box.answered("http://hooks.example/hook")
        stored = await box.wait_for_tries(ask, 1)
        (line,) = await box.lines(ask)
    assert stored.state is DeliveryState.PENDING
    assert stored.last_status is None
    assert stored.last_error == line["error"] == "refused"
    (record,) = [one for one in caplog.records if one.name == "answerback.outbox.dispatcher"]
    assert f"hooks.example, which resolves to {address}," in record.__dict__["detail"]


@pytest.mark.rule("WEBHOOK-10")
async def test_a_name_that_changes_its_address_is_judged_when_connecting(
    tmp_path: Path,
) -> None:
    async with outbox(tmp_path) as box, receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "rebinding.example")
        box.names.answers["rebinding.example"] = [["127.0.0.1"], ["10.0.0.1"]]
        async with box.draining():
            await box.wait_for_tries(await box.answered(url), 1)
        # A new connection resolves the name again and is refused; the first result was not cached.
        async with box.draining():
            stored = await box.wait_for_tries(await box.answered(url), 1)
    assert stored.last_error == "refused"
    assert len(receiver.received) == 1

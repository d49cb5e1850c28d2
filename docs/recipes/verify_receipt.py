"""Check a receipt without Answerback: `python verify_receipt.py receipt.json keys.json`."""

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def faults(body: dict[str, Any], jwks: dict[str, Any]) -> list[str]:
    """Return what is wrong with a receipt; nothing if it is whole."""
    keys = {
        key["kid"]: Ed25519PublicKey.from_public_bytes(decode(key["x"])) for key in jwks["keys"]
    }
    receipt, link, found = body["receipt"], body["link"], []
    if not is_signed(keys, receipt, receipt["payload"]):
        found.append("the receipt was changed, or signed with another key")
    signed = strings(receipt["payload"])
    for name, (salt, value) in body["disclosed"].items():
        if name != digest([salt, value]) or name not in signed:
            found.append(f"the text for {name} is not the one that was signed")
    if link is not None:
        if link["digest"] != digest(receipt):
            found.append("the link is another receipt's")
        if not is_signed(keys, link, {name: link[name] for name in ("n", "digest", "previous")}):
            found.append("the link was changed, or signed with another key")
    return found


def strings(content: Any) -> set[str]:
    """Return the strings that are values in JSON: an agent may choose names of members, such as ids of questions."""
    if isinstance(content, dict | list):
        members = content.values() if isinstance(content, dict) else content
        return set().union(*map(strings, members))
    return {content} if isinstance(content, str) else set()


def is_signed(keys: dict[str, Ed25519PublicKey], signed: dict[str, Any], content: Any) -> bool:
    """Return whether the key that is named has signed the content, in the form of RFC 8785."""
    try:
        keys[signed["kid"]].verify(decode(signed["signature"]), rfc8785.dumps(content))
    except (KeyError, InvalidSignature):
        return False
    return True


def digest(content: Any) -> str:
    """Return the digest of the RFC 8785 form."""
    return f"sha256:{hashlib.sha256(rfc8785.dumps(content)).hexdigest()}"


def decode(text: str) -> bytes:
    """Decode base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read(file: str | Path) -> Any:
    """Read JSON; RFC 8785 has doubles only, as JavaScript has."""
    return json.loads(Path(file).read_text("utf-8"), parse_int=float, object_pairs_hook=members)


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; of two with one name, another reader may take the other."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError(f"A member occurs twice: {', '.join(name for name, _ in pairs)}")
    return dict(pairs)


if __name__ == "__main__":
    wrong = faults(*map(read, sys.argv[1:3]))
    print("\n".join(wrong) or "The receipt is whole.")
    sys.exit(bool(wrong))

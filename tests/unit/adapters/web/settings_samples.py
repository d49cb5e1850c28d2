"""A value for each setting of the web surface that is not the default, as an environment variable has it."""

from typing import Final

SAMPLES: Final = {
    "link_days": "7",
    "push": "true",
    "push_detail": "headline",
    "push_answer": "true",
    "push_anyone": "true",
    "push_allow": "10.0.0.0/8",
    "user_header": "X-User",
    "trusted_proxies": "10.0.0.7",
}

"""The connection of `answerback hook` and the proxies to the service: standard library only, so that a hook starts
fast."""

"""What `answerback hook` and the proxies use to call the service: standard library only, so that a hook starts fast."""

"""Imagined: a host that a test has made up."""

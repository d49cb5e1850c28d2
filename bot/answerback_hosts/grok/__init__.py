"""Grok."""

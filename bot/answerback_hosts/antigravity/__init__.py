"""Antigravity CLI."""

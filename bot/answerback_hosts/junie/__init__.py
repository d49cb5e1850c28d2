"""JetBrains Junie."""

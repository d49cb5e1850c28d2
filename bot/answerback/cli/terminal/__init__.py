"""The terminal surface: shows an ask in this terminal, and reads the answers that a person enters."""

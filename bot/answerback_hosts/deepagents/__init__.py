"""Deep Agents."""

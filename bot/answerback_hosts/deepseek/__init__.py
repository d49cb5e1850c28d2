"""DeepSeek Harness."""

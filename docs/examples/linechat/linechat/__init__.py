"""A chat over TCP as a surface for Answerback."""

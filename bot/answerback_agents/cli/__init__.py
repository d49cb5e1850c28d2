"""The command `answerback`, and the commands of what runs beside an agent: one module each."""

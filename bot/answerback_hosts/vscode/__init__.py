"""Visual Studio Code."""

"""One module for each command, with its arguments and its help.

A command's ``--help`` has to import next to nothing, so its function imports the code that does the work when it runs.
"""

"""A module for each command: its arguments and its help.

Its ``--help`` has to import next to nothing. So what does the command's work is imported when the command runs, inside
its function.
"""

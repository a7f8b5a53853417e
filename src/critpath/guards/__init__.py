"""The 32 guards: one file each, whose docstring is its page."""

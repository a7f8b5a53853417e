"""Everything that needs more than one unit; pure."""

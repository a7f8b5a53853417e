"""Interval maths, statistics and errors; nothing here knows what a trace is."""

"""Map over units, reduce to the report, guard it."""

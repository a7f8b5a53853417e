"""Everything that is said of one unit alone; pure: tables and settings in, values out."""

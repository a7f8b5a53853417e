"""The command line and other outer faces: parse, call, print."""

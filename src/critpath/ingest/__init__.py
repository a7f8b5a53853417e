"""From files to canonical tables; the only place, with `adapters`, that touches files."""

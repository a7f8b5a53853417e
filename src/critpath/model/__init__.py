"""The values that every layer speaks: tables, identities, the taxonomy's answer, the report."""

"""Rows of the op table, a module a family; `load_table` finds every module here."""

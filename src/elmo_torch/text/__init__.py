"""Strings and ids."""

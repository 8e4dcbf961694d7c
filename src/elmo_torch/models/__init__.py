"""Models that ship with the package, as data."""

"""Drop-in replacements and plug-ins for other libraries."""

"""What a user holds: embedder, representations, models by name, files of vectors."""

"""From a corpus to a biLM."""

"""Inference with a frozen model."""

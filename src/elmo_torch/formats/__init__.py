"""Models on disk, to and from config and state dict."""

"""The commands: arguments to one library call to print."""

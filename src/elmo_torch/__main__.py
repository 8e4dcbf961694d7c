"""``python -m elmo_torch``: the ``elmo`` command where it is not on the path."""

from elmo_torch.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()

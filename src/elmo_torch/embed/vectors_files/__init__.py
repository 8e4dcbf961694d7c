"""Files of vectors: one format a module, chosen by the suffix of the file's name."""

from elmo_torch.embed.vectors_files.layout import VectorsLayout
from elmo_torch.embed.vectors_files.target import check_target, open_writer
from elmo_torch.embed.vectors_files.writer import VectorsWriter

__all__ = ["VectorsLayout", "VectorsWriter", "check_target", "open_writer"]

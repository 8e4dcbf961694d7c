"""A text file to a file of vectors: in windows of sentences, so that a killed job can go on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elmo_torch.embed.embedder import DEFAULT_BATCH_TOKENS, Embedder
from elmo_torch.embed.vectors_files import VectorsLayout, open_writer
from elmo_torch.runtime.selection import Layers, select_layers
from elmo_torch.text.batches import windows
from elmo_torch.text.readers import Sentence

__all__ = ["EmbedCounts", "EmbedSettings", "embed_file"]

_PART_TOKENS = 65_536  # tokens between two places where a killed job can go on


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedSettings:
    """What the vectors are to be."""

    layers: Layers = "all"
    dtype: Literal["float32", "float16"] = "float32"
    max_batch_tokens: int = DEFAULT_BATCH_TOKENS


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedCounts:
    """What a job has done, without what an earlier, killed one had."""

    num_sentences: int
    num_tokens: int


def embed_file(
    embedder: Embedder,
    sentences: Iterable[Sentence],
    target: Path | str,
    settings: EmbedSettings,
    *,
    source: str,
    resume: bool = False,
    progress: Callable[[int], None] = lambda tokens: None,
) -> EmbedCounts:
    """Write one record a sentence to ``target``; it appears under its name when it is whole.

    ``source`` names the text; with ``resume`` the job goes on after the last part on disk, and is
    refused if text, model or settings are not those of the job that was killed. ``progress`` is
    told of tokens done. Raises OutputError.
    """
    selection = select_layers(settings.layers, embedder.num_layers)
    single = settings.layers in ("top", "average")
    layout = VectorsLayout(
        layer_names=None if single else selection.kept, dim=embedder.dim, dtype=settings.dtype
    )
    identity = {
        "text": source,
        "model": embedder.fingerprint,
        "layers": settings.layers if isinstance(settings.layers, str) else list(settings.layers),
        "dtype": settings.dtype,
        "max_batch_tokens": settings.max_batch_tokens,
    }
    num_sentences = num_tokens = first = 0
    with open_writer(target, layout, settings=identity, resume=resume) as writer:
        for part, window in enumerate(windows(sentences, max_tokens=_PART_TOKENS)):
            window_tokens = sum(map(len, window))
            if part >= writer.parts_done:
                embedder.clear_cache()  # so that a part's last digits do not depend on those before
                results = embedder.embed(
                    window, layers=settings.layers, max_batch_tokens=settings.max_batch_tokens
                )
                writer.write_part(first, results)
                num_sentences += len(window)
                num_tokens += window_tokens
            first += len(window)
            progress(window_tokens)
        writer.finish()
    return EmbedCounts(num_sentences=num_sentences, num_tokens=num_tokens)

"""``ElmoEmbedder`` with the methods of AllenNLP 0.9's class: sentences to arrays, text to HDF5."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Float32
from numpy import ndarray
from torch import Tensor

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp.char_batches import checked_sentences
from elmo_torch.integrations.allennlp.embeddings_file import write_embeddings
from elmo_torch.integrations.allennlp.model_files import load_model_files
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.runtime.selection import select_layers

__all__ = ["ElmoEmbedder"]

DEFAULT_BATCH_SIZE = 64


class ElmoEmbedder:
    """All layers of tokenised sentences, without training.

    Stateless, which AllenNLP's class is not: a sentence's arrays never depend on those before.
    ``options_file`` and ``weight_file`` are paths, not URLs. ``cuda_device`` is a number, -1 the CPU.
    """

    def __init__(
        self, options_file: str | Path, weight_file: str | Path, cuda_device: int = -1
    ) -> None:
        if cuda_device >= torch.cuda.device_count():
            raise InputError(
                f"cuda_device: there is no device {cuda_device} here, of {torch.cuda.device_count()} "
                "CUDA devices; -1 is the CPU"
            )
        checkpoint = load_model_files(options_file, weight_file)
        self.cuda_device = cuda_device
        self._device = torch.device("cpu" if cuda_device < 0 else f"cuda:{cuda_device}")
        self._frozen = FrozenBiLm(checkpoint.bilm().to(self._device), checkpoint.token_ids())
        self._layers = select_layers("all", checkpoint.config.num_layers)

    def batch_to_embeddings(
        self, batch: Iterable[Iterable[str]]
    ) -> tuple[Float[Tensor, "batch layers tokens dim"], Bool[Tensor, "batch tokens"]]:
        """Return the layers of a batch, zero past a sentence's end, and its mask, True at tokens."""
        vectors = self._run(batch)
        config = self._frozen.config
        lengths = torch.tensor([rows.shape[1] for rows in vectors], dtype=torch.int64)
        longest = max(lengths.tolist(), default=0)
        embeddings = torch.zeros(
            len(vectors), config.num_layers, longest, config.dim, device=self._device
        )
        for padded, rows in zip(embeddings, vectors, strict=True):
            padded[:, : rows.shape[1]] = rows
        return embeddings, (torch.arange(longest) < lengths[:, None]).to(self._device)

    def embed_sentence(self, sentence: Iterable[str]) -> Float32[ndarray, "layers tokens dim"]:
        """Return the layers of one sentence; one without tokens has 0 of them."""
        return self.embed_batch([sentence])[0]

    def embed_batch(
        self, batch: Iterable[Iterable[str]]
    ) -> list[Float32[ndarray, "layers _tokens dim"]]:
        """Return the layers of each sentence at its own length; ``[]`` gives ``[]``."""
        return [rows.cpu().numpy() for rows in self._run(batch)]

    def embed_sentences(
        self, sentences: Iterable[Iterable[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Float32[ndarray, "layers _tokens dim"]]:
        """Yield the layers of any number of sentences, ``batch_size`` of them at a time."""
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1; got {batch_size}")
        remaining = iter(sentences)
        while batch := list(itertools.islice(remaining, batch_size)):
            yield from self.embed_batch(batch)

    def embed_file(
        self,
        input_file: Iterable[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Write the layers of a text, one tokenised sentence a line, to an HDF5 file.

        One dataset a line, under its number from 0. ``output_format`` "all" gives (layers, tokens,
        dim), "top" and "average" give (tokens, dim). A blank line, which AllenNLP refuses, keeps its
        place with 0 tokens. Unless ``forget_sentences``, the dataset ``sentence_to_index`` holds
        JSON from line to number. With ``use_sentence_keys`` the line itself is the key, there is
        no index, a blank line is an error, and a repeated one is written once.
        The file appears whole or not at all. Raises InputError, OutputError.
        """
        lines = [line.strip() for line in input_file]
        write_embeddings(
            Path(output_file_path),
            lines,
            self.embed_sentences((line.split() for line in lines), batch_size),
            layers_and_dim=(self._frozen.config.num_layers, self._frozen.config.dim),
            output_format=output_format,
            forget_sentences=forget_sentences,
            use_sentence_keys=use_sentence_keys,
        )

    def _run(self, batch: Iterable[Iterable[str]]) -> list[Tensor]:
        sentences = checked_sentences(batch)
        return self._frozen.run(sentences, self._layers).vectors if sentences else []

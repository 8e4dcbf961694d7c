"""``Elmo`` with the arguments, defaults and results of AllenNLP's class of that name."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypedDict, cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp.bilm import PairBiLm
from elmo_torch.nn.elmo import remove_boundaries
from elmo_torch.nn.scalar_mix import ScalarMix

__all__ = ["Elmo", "ElmoRepresentations"]

_logger = logging.getLogger(__name__)


class ElmoRepresentations(TypedDict):
    """The result of ``Elmo``: one tensor (batch, tokens, dim) a mix, and their mask, True at tokens."""

    elmo_representations: list[Tensor]
    mask: Tensor


class _Sized(Protocol):
    """What ``Elmo`` asks of a biLM besides an answer to its call."""

    num_layers: int

    def get_output_dim(self) -> int: ...


class Elmo(nn.Module):
    """ELMo vectors of char ids, as AllenNLP's class gives them on its *first* call.

    Stateless, which AllenNLP's class is not: every call starts from the zero state, so a sentence's
    vectors never depend on calls before. ``carry_state=True``, the one argument that AllenNLP lacks,
    keeps the state from call to call, batches of any sizes, and equals AllenNLP's later calls too;
    ``reset_states`` forgets it.

    ``options_file`` and ``weight_file`` are paths, not URLs. ``requires_grad`` trains the biLM; the
    mixes learn either way, unless ``scalar_mix_parameters`` (weights before softmax) fixes them.
    ``vocab_to_cache`` lists words whose token layer is computed once: ``word_inputs`` then holds
    places in that list, 0 for padding; a batch with an id outside of it is read from its char ids.
    ``module`` replaces the model of the files: it has ``num_layers`` and ``get_output_dim()`` and
    answers a call with a dict of ``activations`` and ``mask``, boundary tokens included.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: nn.Module | None = None,
        *,
        carry_state: bool = False,
    ) -> None:
        super().__init__()
        if module is None:
            module = PairBiLm(
                options_file,
                weight_file,
                requires_grad=requires_grad,
                vocab_to_cache=vocab_to_cache,
                carry_state=carry_state,
            )
        elif options_file is not None or weight_file is not None:
            raise InputError(
                "module takes the place of options_file and weight_file: pass None for both"
            )
        elif carry_state:
            raise InputError(
                "carry_state is not possible with module, which keeps its own state or none"
            )
        self.bilm = module
        self._has_cached_vocab = vocab_to_cache is not None
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(dropout)
        self._mix_names = [f"scalar_mix_{index}" for index in range(num_output_representations)]
        for name in self._mix_names:
            mix = ScalarMix(
                cast(_Sized, module).num_layers,
                weights=scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
                layer_norm="allennlp" if do_layer_norm else None,
            )
            self.add_module(name, mix)

    def get_output_dim(self) -> int:
        """Return the width of an ELMo vector."""
        return cast(_Sized, self.bilm).get_output_dim()

    def reset_states(self) -> None:
        """Forget the carried state: the next call starts from zero, as every stateless call does."""
        if isinstance(self.bilm, PairBiLm) and self.bilm.carried is not None:
            self.bilm.carried.reset()

    def forward(
        self, inputs: Int[Tensor, "..."], word_inputs: Int[Tensor, "..."] | None = None
    ) -> ElmoRepresentations:
        """Return the mixes of char ids (batch, tokens, 50); axes between batch and tokens come back.

        ``word_inputs``, for a model with ``vocab_to_cache``, lacks the last of these axes.
        """
        if word_inputs is not None and not self._has_cached_vocab:
            _logger.warning("word_inputs are not read: this Elmo was made without vocab_to_cache")
            word_inputs = None
        ids, id_axes = (inputs, 2) if word_inputs is None else (word_inputs, 1)
        leading = ids.shape[:-id_axes]
        if not leading:
            raise InputError(
                "inputs must be char ids (batch, tokens, 50), as batch_to_ids gives, and word_inputs "
                f"word ids (batch, tokens); got the shape {tuple(ids.shape)}"
            )
        if inputs.dim() > 3:
            inputs = inputs.flatten(0, -3)
        if word_inputs is not None:
            word_inputs = word_inputs.flatten(0, -2)
        output = self.bilm(inputs, word_inputs)
        layers, mask = torch.stack(output["activations"]), output["mask"]
        representations = []
        for name in self._mix_names:
            # with the boundary tokens, since AllenNLP's layer norm counts them
            vectors = self.get_submodule(name)(layers, mask)
            if not self._keep_sentence_boundaries:
                vectors, _ = remove_boundaries(vectors, mask)
            representations.append(self._dropout(vectors).unflatten(0, leading))
        kept_mask = mask if self._keep_sentence_boundaries else mask[:, 2:]
        return ElmoRepresentations(
            elmo_representations=representations, mask=kept_mask.unflatten(0, leading)
        )

"""The names of AllenNLP's ELMo, over this library: a program that used them changes its import alone.

Stateless by default, which AllenNLP is not: there the LSTM state stays from call to call, so the
same sentence gets different vectors each time. Here every call equals AllenNLP's *first* call;
``Elmo(..., carry_state=True)`` equals its later calls too.
"""

from elmo_torch.integrations.allennlp.char_batches import batch_to_ids
from elmo_torch.integrations.allennlp.elmo import Elmo
from elmo_torch.integrations.allennlp.embedder import ElmoEmbedder
from elmo_torch.integrations.allennlp.token_embedder import ElmoTokenEmbedder

__all__ = ["Elmo", "ElmoEmbedder", "ElmoTokenEmbedder", "batch_to_ids"]

"""The check that sentences are lists of str, before anything is made of them."""

from collections.abc import Sequence

from elmo_torch.errors import InputError

__all__ = ["check_sentences"]


def check_sentences(sentences: Sequence[Sequence[str]]) -> None:
    """Raise InputError that names the first sentence or token of a wrong kind."""
    if isinstance(sentences, str):
        raise InputError(
            "the sentences are one str; give a list of sentences, each a list of tokens"
        )
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, (str, bytes)):
            raise InputError(
                f"sentence {number} is a {type(sentence).__name__}; split it into a list of tokens"
            )
        for place, token in enumerate(sentence):
            if not isinstance(token, str):
                raise InputError(
                    f"sentence {number}, token {place} is {token!r} of type "
                    f"{type(token).__name__}; tokens must be str"
                )

"""The check that sentences are lists of str, before anything is made of them."""

from collections.abc import Collection, Iterable, Mapping, Set

from elmo_torch.errors import InputError

__all__ = ["check_sentences"]


def check_sentences(sentences: Iterable[object]) -> None:
    """Raise InputError that names the first sentence or token of a wrong kind, counted from 0."""
    if isinstance(sentences, (str, bytes)):
        raise InputError(
            f"the sentences are {_kind(sentences)}; give a list of sentences, each a list of tokens"
        )
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, (str, bytes)):
            raise InputError(
                f"sentence {number} is {_kind(sentence)}; split it into a list of tokens"
            )
        if not isinstance(sentence, Collection) or isinstance(sentence, (Set, Mapping)):
            raise InputError(f"sentence {number} is {_kind(sentence)}; give a list of tokens")
        if set(map(type, sentence)) <= {str}:
            continue
        for place, token in enumerate(sentence):
            if not isinstance(token, str):
                raise InputError(
                    f"sentence {number}, token {place} is {_kind(token)} ({token!r:.50}); "
                    "tokens must be str"
                )


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from elmo_torch.errors import InputError
from elmo_torch.integrations.allennlp import ElmoEmbedder
from tests.golden.parity import TOLERANCE
from tests.golden.peers import GOLDEN_RUNS, peer_run
from tests.helpers import PROJ, largest_difference
from tests.integrations.allennlp.pairs import SENTENCES, Pair

DIM = 2 * PROJ
STATELESS_RUNS = [
    name for name in GOLDEN_RUNS if name.startswith("allennlp_") and "/stateless_" in name
]


@pytest.fixture(scope="module")
def embedder(pair: Pair) -> ElmoEmbedder:
    return ElmoEmbedder(*pair)


def test_arguments_and_defaults_are_allennlps_but_for_the_files() -> None:
    # of version 0.9, where the two files have URLs as defaults
    parameters = list(inspect.signature(ElmoEmbedder).parameters.values())
    assert [p.name for p in parameters] == ["options_file", "weight_file", "cuda_device"]
    assert parameters[2].default == -1
    embed_file = list(inspect.signature(ElmoEmbedder.embed_file).parameters.values())
    assert [p.name for p in embed_file[1:3]] == ["input_file", "output_file_path"]
    assert [(p.name, p.default) for p in embed_file[3:]] == [
        ("output_format", "all"),
        ("batch_size", 64),
        ("forget_sentences", False),
        ("use_sentence_keys", False),
    ]
    assert inspect.signature(ElmoEmbedder.embed_sentences).parameters["batch_size"].default == 64


@pytest.mark.parametrize("name", STATELESS_RUNS)
def test_layers_are_allennlps_from_the_zero_state(name: str) -> None:
    run = peer_run(name)
    embedder = ElmoEmbedder(run.model.options, run.model.weights)
    for batch in run.batches:
        arrays = embedder.embed_batch(batch.sentences)
        for array, expected in zip(arrays, batch.rows, strict=True):
            ours = torch.from_numpy(array)
            assert largest_difference(ours, expected[:, 1:-1]) <= TOLERANCE


def test_a_sentence_gives_one_array_of_all_layers(embedder: ElmoEmbedder) -> None:
    array = embedder.embed_sentence(SENTENCES[0])
    assert isinstance(array, np.ndarray)
    assert array.dtype == np.float32
    assert array.shape == (3, 4, DIM)


def test_a_sentence_does_not_depend_on_those_before_it(embedder: ElmoEmbedder) -> None:
    first = embedder.embed_sentence(SENTENCES[0])
    embedder.embed_batch(SENTENCES)
    assert np.array_equal(embedder.embed_sentence(SENTENCES[0]), first)


def test_a_batch_gives_each_sentence_at_its_own_length(embedder: ElmoEmbedder) -> None:
    arrays = embedder.embed_batch(SENTENCES)
    assert [array.shape for array in arrays] == [(3, 4, DIM), (3, 1, DIM), (3, 5, DIM)]
    for array, sentence in zip(arrays, SENTENCES, strict=True):
        # sums in another order: float32 at values of about 1 differs by some 1e-7
        np.testing.assert_allclose(array, embedder.embed_sentence(sentence), rtol=0, atol=1e-6)


def test_the_tensor_of_a_batch_is_zero_past_the_end_of_a_sentence(embedder: ElmoEmbedder) -> None:
    embeddings, mask = embedder.batch_to_embeddings(SENTENCES)
    assert embeddings.shape == (3, 3, 5, DIM)
    assert mask.dtype == torch.bool
    assert mask.sum(dim=1).tolist() == [4, 1, 5]
    for padded, real, array in zip(embeddings, mask, embedder.embed_batch(SENTENCES), strict=True):
        assert torch.equal(padded[:, real], torch.from_numpy(array))
        assert not padded[:, ~real].any()


def test_no_sentences_and_no_tokens_follow_the_sizes_of_the_model(embedder: ElmoEmbedder) -> None:
    assert embedder.embed_sentence([]).shape == (3, 0, DIM)
    assert embedder.embed_batch([]) == []
    assert [a.shape for a in embedder.embed_batch([[], ["a"]])] == [(3, 0, DIM), (3, 1, DIM)]
    assert list(embedder.embed_sentences([])) == []
    embeddings, mask = embedder.batch_to_embeddings([])
    assert embeddings.shape == (0, 3, 0, DIM)
    assert mask.shape == (0, 0)
    embeddings, mask = embedder.batch_to_embeddings([[]])
    assert embeddings.shape == (1, 3, 0, DIM)
    assert mask.shape == (1, 0)


def test_a_stream_is_read_one_batch_ahead_and_keeps_its_order(embedder: ElmoEmbedder) -> None:
    taken = []

    def stream() -> Iterator[list[str]]:
        for sentence in SENTENCES * 3:
            taken.append(sentence)
            yield sentence

    results = embedder.embed_sentences(stream(), batch_size=2)
    assert taken == []
    first = next(results)
    assert len(taken) == 2
    lengths = [first.shape[1], *(array.shape[1] for array in results)]
    assert lengths == [4, 1, 5] * 3


@pytest.mark.parametrize("batch_size", [0, -2])
def test_a_batch_size_below_one_is_refused(embedder: ElmoEmbedder, batch_size: int) -> None:
    with pytest.raises(InputError, match=f"batch_size must be at least 1; got {batch_size}"):
        next(embedder.embed_sentences(SENTENCES, batch_size))


def test_a_token_that_is_no_str_is_named(embedder: ElmoEmbedder) -> None:
    with pytest.raises(InputError, match=r"sentence 0, token 1 is .*int"):
        embedder.embed_sentence(["a", 7])  # type: ignore[list-item]  # wrong on purpose


def test_a_sentence_that_is_one_str_is_refused(embedder: ElmoEmbedder) -> None:
    with pytest.raises(InputError, match="sentence 0 is a str; split it"):
        embedder.embed_sentence("The bank")


def test_a_device_that_is_not_there_is_named(pair: Pair) -> None:
    missing = torch.cuda.device_count()
    with pytest.raises(InputError, match=f"there is no device {missing} here"):
        ElmoEmbedder(*pair, cuda_device=missing)

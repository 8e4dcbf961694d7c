"""The biLM: what a sentence's vectors depend on, and what they do not."""

import pytest
import torch
from torch import Tensor

from elmo_torch.nn.bilm import BiLm, BiLmConfig, real_tokens
from elmo_torch.nn.bilstmp import BiLmState
from tests.helpers import (
    CELL,
    PROJ,
    bilm_config,
    char_batch,
    char_cnn_config,
    lstm_config,
    random_bilm,
    random_state,
    word_bilm_config,
)

SENTENCES = [
    ["<S>", "The", "cat", "sat", "", "</S>"],
    ["<S>", "Stop", "</S>"],
    ["<S>", "Gr\u00fc\u00dfe", "an", "alle", "</S>"],
]
NUM_LAYERS, BATCH, TOKENS, DIM = 3, 3, 6, 2 * PROJ

# Float64, where a batch of another shape may take another order of sums: measured 1.8e-15.
ROUNDING = 1e-13


def _bilm() -> BiLm:
    return random_bilm(bilm_config()).requires_grad_(False)


def _assert_close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=ROUNDING)


def _select(state: BiLmState, row: int) -> BiLmState:
    rows = slice(row, row + 1)
    return BiLmState(hidden=state.hidden[:, rows], memory=state.memory[:, rows])


def test_layers_mask_and_state_have_their_shapes() -> None:
    output = _bilm()(char_batch(SENTENCES))
    assert output.layers.shape == (NUM_LAYERS, BATCH, TOKENS, DIM)
    assert output.mask.dtype == torch.bool
    assert output.mask.sum(dim=1).tolist() == [6, 3, 5]
    assert output.state.hidden.shape == (NUM_LAYERS - 1, BATCH, DIM)
    assert output.state.memory.shape == (NUM_LAYERS - 1, BATCH, 2 * CELL)
    assert bilm_config().num_layers == NUM_LAYERS
    assert bilm_config().dim == DIM


def test_layer_0_is_the_token_vector_written_twice() -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES)
    output = bilm(ids)
    vectors = bilm.token_encoder(ids[0])
    _assert_close(output.token_layer[0], torch.cat([vectors, vectors], dim=-1))
    assert torch.equal(output.top_layer, output.layers[2])
    assert torch.equal(output.token_layer, output.layers[0])


def test_every_layer_is_zero_at_padding_though_the_encoders_vector_is_not() -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES)
    output = bilm(ids)
    assert not output.layers[:, ~output.mask].any()
    assert output.layers[:, output.mask].any(dim=-1).all()
    assert bilm.token_encoder(ids[1, -1:]).any()


def test_a_batch_gives_what_its_sentences_give_alone() -> None:
    bilm, before = _bilm(), random_state(lstm_config(), BATCH)
    output = bilm(char_batch(SENTENCES), before)
    for row, sentence in enumerate(SENTENCES):
        alone = bilm(char_batch([sentence]), _select(before, row))
        _assert_close(output.layers[:, row, : len(sentence)], alone.layers[:, 0])
        _assert_close(output.state.hidden[:, row], alone.state.hidden[:, 0])
        _assert_close(output.state.memory[:, row], alone.state.memory[:, 0])


def test_more_padding_changes_nothing() -> None:
    bilm, ids, before = _bilm(), char_batch(SENTENCES), random_state(lstm_config(), BATCH)
    output = bilm(ids, before)
    padded = bilm(torch.nn.functional.pad(ids, (0, 0, 0, 4)), before)
    _assert_close(padded.layers[:, :, :TOKENS], output.layers)
    assert not padded.layers[:, :, TOKENS:].any()
    _assert_close(padded.state.hidden, output.state.hidden)
    _assert_close(padded.state.memory, output.state.memory)


def test_the_order_of_a_batch_changes_nothing() -> None:
    bilm, order = _bilm(), [2, 0, 1]
    shuffled = bilm(char_batch([SENTENCES[row] for row in order]))
    _assert_close(shuffled.layers, bilm(char_batch(SENTENCES)).layers[:, order])


def test_without_a_state_every_call_starts_from_zero() -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES)
    first, second = bilm(ids), bilm(ids)
    assert torch.equal(first.layers, second.layers)
    assert torch.equal(first.layers, bilm(ids, bilm.lstm.zero_state(BATCH)).layers)


def test_a_given_state_changes_the_recurrent_layers_alone() -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES)
    fresh, carried = bilm(ids), bilm(ids, random_state(lstm_config(), BATCH))
    assert torch.equal(fresh.layers[0], carried.layers[0])
    # a random state moves every real token; the smallest move is far above rounding
    moved = (fresh.layers[1:] - carried.layers[1:])[:, fresh.mask].abs().amax(dim=-1)
    assert float(moved.min()) > 1e-6


def test_a_row_of_padding_alone_passes_its_state_on() -> None:
    bilm, before = _bilm(), random_state(lstm_config(), 1)
    output = bilm(torch.zeros(1, 2, 11, dtype=torch.long), before)
    assert torch.equal(output.state.hidden, before.hidden)
    assert torch.equal(output.state.memory, before.memory)


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_chunks_with_carried_state_give_the_whole_in_each_direction(cut: int) -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES[:1])
    whole = bilm(ids)
    first, second = ids[:, :cut], ids[:, cut:]

    left = bilm(first)
    right = bilm(second, left.state)
    forward = torch.cat([left.layers, right.layers], dim=2)[..., :PROJ]
    _assert_close(forward, whole.layers[..., :PROJ])
    _assert_close(right.state.hidden[..., :PROJ], whole.state.hidden[..., :PROJ])

    # the backward direction reads the second chunk first
    right = bilm(second)
    left = bilm(first, right.state)
    backward = torch.cat([left.layers, right.layers], dim=2)[..., PROJ:]
    _assert_close(backward, whole.layers[..., PROJ:])
    _assert_close(left.state.memory[..., CELL:], whole.state.memory[..., CELL:])


def test_each_direction_sees_one_side_of_a_token() -> None:
    bilm, changed = _bilm(), 2
    sentence = list(SENTENCES[0])
    before = bilm(char_batch([sentence])).layers[1:, 0]
    sentence[changed] = "dog"
    moved = bilm(char_batch([sentence])).layers[1:, 0] != before  # (layers, tokens, dim)
    forward, backward = moved[..., :PROJ], moved[..., PROJ:]
    assert forward[:, changed:].any(dim=-1).all()
    assert not forward[:, :changed].any()
    assert backward[:, : changed + 1].any(dim=-1).all()
    assert not backward[:, changed + 1 :].any()


def test_token_vectors_made_before_give_the_same_layers() -> None:
    bilm, ids = _bilm(), char_batch(SENTENCES)
    vectors = bilm.token_encoder(ids.flatten(0, 1)).view(BATCH, TOKENS, PROJ)
    output = bilm.contextualize(vectors, real_tokens(ids))
    assert torch.equal(output.layers, bilm(ids).layers)


def test_a_model_with_word_input_reads_word_ids() -> None:
    bilm = random_bilm(word_bilm_config(vocab_size=7))
    ids = torch.tensor([[1, 5, 3, 2], [1, 7, 2, 0], [1, 2, 0, 0]])
    output = bilm(ids)
    assert output.layers.shape == (NUM_LAYERS, 3, 4, DIM)
    assert output.mask.tolist() == (ids > 0).tolist()
    assert not output.layers[:, ~output.mask].any()
    alone = bilm(ids[1:2, :3])
    _assert_close(alone.layers[:, 0], output.layers[:, 1, :3])


def test_a_token_is_real_if_any_of_its_ids_is_above_zero() -> None:
    ids = torch.tensor([[[0, 3], [1, 0], [0, 0]]])
    assert real_tokens(ids).tolist() == [[True, True, False]]
    assert real_tokens(torch.tensor([[4, 0]])).tolist() == [[True, False]]


def test_gradients_reach_every_weight() -> None:
    bilm = random_bilm(bilm_config())
    bilm(char_batch(SENTENCES)).layers.square().sum().backward()
    untouched = [
        name
        for name, weight in bilm.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    assert untouched == []


def test_an_encoder_of_another_width_than_the_recurrent_layers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"encoder gives 5 numbers a token.*read 4"):
        BiLmConfig(token_encoder=char_cnn_config(projection_dim=5), lstm=lstm_config())

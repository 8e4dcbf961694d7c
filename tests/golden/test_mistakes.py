"""The parity tests would see the mistakes that ports of ELMo make."""

import pytest
import torch

from elmo_torch.text.char_ids import CharIds
from tests.golden.mistakes import MISTAKES
from tests.golden.parity import TOLERANCE
from tests.golden.peers import TENSORFLOW_RUNS, load_bilm, peer_run, tensorflow_model

_ROWS = [(name, fixture) for name, mistake in MISTAKES.items() for fixture in mistake.errors]


@pytest.mark.parametrize(("name", "fixture"), _ROWS)
def test_a_mistake_is_far_outside_the_tolerance(name: str, fixture: str) -> None:
    error = MISTAKES[name].error(peer_run(fixture))
    # the mildest, no clipping on bilm-tf's model, is 43 times the tolerance
    assert error > 40 * TOLERANCE
    known = MISTAKES[name].errors[fixture]
    if known is not None:
        # the known figures have two or three digits, so rounding alone may part them by 1 %
        assert error == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize(("fixture", "largest"), [("bilm-tf", 0.065), ("allennlp", 0.153)])
def test_the_vector_of_a_padding_row_is_not_zero(fixture: str, largest: float) -> None:
    padding = torch.zeros(1, 50, dtype=torch.long)
    vector = load_bilm(tensorflow_model(fixture)).token_encoder(padding)
    # the known figure is rounded to three decimals
    assert float(vector.abs().max()) == pytest.approx(largest, abs=5e-4)


@pytest.mark.parametrize("fixture", TENSORFLOW_RUNS)
def test_bytes_past_the_forty_eighth_do_not_change_a_vector(fixture: str) -> None:
    prefix = "abcdefgh" * 6
    words = [prefix, prefix + "Longer than 48", prefix[:-1] + "x"]
    encoder = load_bilm(tensorflow_model(fixture)).token_encoder
    whole, longer, other = encoder(torch.from_numpy(CharIds().encode(words)))
    assert torch.equal(whole, longer)
    assert not torch.equal(whole, other)

import numpy as np
import pytest

from elmo_torch.embed.representations import Representations
from elmo_torch.embed.vectors_files import VectorsLayout
from elmo_torch.errors import OutputError
from tests.embed.vectors_files.records import DIM, ONE_VECTOR, results


def test_a_list_of_one_layer_keeps_its_axis_and_a_single_vector_has_none() -> None:
    listed = VectorsLayout(layer_names=(2,), dim=DIM, dtype="float32")
    result = results(listed)[0]
    assert listed.values(result).shape == (1, 5, DIM)
    assert ONE_VECTOR.values(result).shape == (5, DIM)
    np.testing.assert_array_equal(ONE_VECTOR.values(result), result.top)


def test_float16_rounds_to_nearest() -> None:
    layout = VectorsLayout(layer_names=None, dim=1, dtype="float16")
    spacing = 2**-10  # of float16 between 1 and 2
    result = Representations(
        tokens=("a", "b"),
        vectors=np.array([[[1 + 0.4 * spacing], [1 + 0.6 * spacing]]], dtype=np.float32),
        kept=None,
        num_layers=3,
    )
    values = layout.values(result)
    assert values.dtype == np.float16
    assert values.tolist() == [[1.0], [1 + spacing]]


def test_a_number_too_large_for_float16_is_refused_instead_of_becoming_infinite() -> None:
    layout = VectorsLayout(layer_names=None, dim=1, dtype="float16")
    result = Representations(
        tokens=("a",), vectors=np.full((1, 1, 1), 7e4, np.float32), kept=None, num_layers=3
    )
    with pytest.raises(OutputError, match=r"float16 cannot .* write float32"):
        layout.values(result)

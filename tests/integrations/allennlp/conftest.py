import pytest

from tests.integrations.allennlp.pairs import Pair, write_pair


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """An options and weights pair of a small random model: projection 4, cell 6, two layers."""
    return write_pair(tmp_path_factory.mktemp("models") / "pair")

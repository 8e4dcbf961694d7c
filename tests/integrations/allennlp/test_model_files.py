from pathlib import Path

import pytest

from elmo_torch.errors import CheckpointError, InputError
from elmo_torch.formats.checkpoint import Checkpoint, save_checkpoint
from elmo_torch.integrations.allennlp.model_files import load_model_files
from elmo_torch.nn.bilm import BiLm
from elmo_torch.text.vocabulary import SPECIAL_WORDS, Vocabulary
from tests.helpers import word_bilm_config
from tests.integrations.allennlp.pairs import Pair

URL = "https://example.org/elmo/options.json"


def test_a_url_is_refused_with_the_name_of_its_argument(pair: Pair) -> None:
    with pytest.raises(InputError, match=f"options_file: {URL} is a URL.*download the file"):
        load_model_files(URL, pair[1])
    with pytest.raises(InputError, match=f"weight_file: {URL} is a URL"):
        load_model_files(pair[0], URL)


def test_both_files_are_needed(pair: Pair) -> None:
    for files in ((None, pair[1]), (pair[0], None)):
        with pytest.raises(InputError, match="options_file and weight_file are both needed"):
            load_model_files(*files)


def test_paths_may_be_str(pair: Pair) -> None:
    assert load_model_files(str(pair[0]), str(pair[1])).config == load_model_files(*pair).config


def test_a_model_of_word_ids_is_refused(tmp_path: Path) -> None:
    vocabulary = Vocabulary([*SPECIAL_WORDS, "a", "bank", "steep"])
    config = word_bilm_config(vocab_size=len(vocabulary) + 1)
    checkpoint = Checkpoint(
        config=config,
        state_dict=BiLm(config).state_dict(),
        source="a model of word ids",
        format="native",
        vocabulary=vocabulary,
    )
    save_checkpoint(checkpoint, tmp_path / "words", format="bilm")
    with pytest.raises(CheckpointError, match=r"reads word ids.*a char CNN"):
        load_model_files(tmp_path / "words" / "options.json", tmp_path / "words" / "weights.hdf5")

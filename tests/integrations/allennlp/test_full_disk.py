"""``embed_file`` on a disk that fills up says so and leaves nothing."""

import shutil
from pathlib import Path

import pytest

from elmo_torch.errors import OutputError
from elmo_torch.integrations.allennlp import ElmoEmbedder
from tests.integrations.allennlp.pairs import write_pair


@pytest.mark.parametrize("output_format", ["all", "top"])
@pytest.mark.parametrize("use_sentence_keys", [False, True])
def test_a_file_that_has_no_space_is_refused_before_it_is_begun(
    small_disk: Path, tmp_path: Path, output_format: str, use_sentence_keys: bool
) -> None:
    embedder = ElmoEmbedder(*write_pair(tmp_path / "pair"))
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 40_960))
    with pytest.raises(OutputError, match=r"v\.h5: cannot be written: No space left on device$"):
        embedder.embed_file(
            [f"a word / number {number}" for number in range(50)],
            small_disk / "v.h5",
            output_format,
            use_sentence_keys=use_sentence_keys,
        )
    assert list(small_disk.iterdir()) == [ballast]

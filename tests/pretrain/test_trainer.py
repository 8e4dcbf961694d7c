"""A run learns, goes on after a stop as if it had never stopped, and ends in a model that loads."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from elmo_torch.errors import TrainingError
from elmo_torch.formats.checkpoint import load_checkpoint
from elmo_torch.nn.softmax import SoftmaxLayer
from elmo_torch.pretrain.config import Recipe, TrainingConfig, load_recipe
from elmo_torch.pretrain.corpus import encode_corpus
from elmo_torch.pretrain.perplexity import evaluate, unigram_perplexity
from elmo_torch.pretrain.run import PretrainingRun
from elmo_torch.runtime.frozen import FrozenBiLm
from elmo_torch.text.vocabulary import Vocabulary
from tests.models import random_checkpoint, small_config


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A language of two letters' order: every a is followed by b, every c by d."""
    generator = random.Random(0)
    lines = [
        " ".join(generator.choice(["a b", "c d"]) for _ in range(generator.randint(1, 6)))
        for _ in range(300)
    ]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(line if i % 20 else "" for i, line in enumerate(lines)))
    return path


def recipe(**changes: object) -> Recipe:
    settings: dict[str, object] = {
        "num_tokens": 60 * 30,
        "vocab_size": 7,
        "num_samples": 3,
        "num_streams": 6,
        "window_tokens": 5,
        "learning_rate": 0.02,
        "lr_warmup_steps": 5,
        "save_every_steps": 1000,
        **changes,
    }
    return Recipe(model=small_config(), training=TrainingConfig(**settings))  # type: ignore[arg-type]  # a mapping of mixed kinds


def started(folder: Path, text: Path, **changes: object) -> PretrainingRun:
    run = PretrainingRun(folder, recipe(**changes))
    run.prepare([text], resume=False)
    return run


@pytest.mark.parametrize("state", ["mixed", "carried"])
@pytest.mark.parametrize("stop_at", [1, 17, 40])
def test_a_resumed_run_equals_an_undisturbed_one_bit_for_bit(
    text: Path, tmp_path: Path, state: str, stop_at: int
) -> None:
    whole = started(tmp_path / "whole", text, state=state, dropout=0.1)
    expected = list(whole.train())
    first = started(tmp_path / "halves", text, state=state, dropout=0.1)
    reports = []
    for report in first.train():
        reports.append(report)
        if report.step == stop_at:
            first.save()
            break
    second = PretrainingRun(tmp_path / "halves", recipe(state=state, dropout=0.1))
    second.prepare([text], resume=True)
    reports += second.train()
    assert reports == expected
    for key, tensor in whole.trainer.model.state_dict().items():
        assert torch.equal(tensor, second.trainer.model.state_dict()[key]), key


def test_a_run_learns_the_order_of_a_toy_language(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text, num_tokens=400 * 30, dropout=0.0)
    list(run.train())
    sentences = [["a", "b", "c", "d"], ["c", "d", "a", "b"]]
    loss, unigram = run.evaluate(sentences)
    # each pair is one coin: of 5 targets b and d are certain; the end comes with 2/7 or so
    assert loss.mean_perplexity < 0.65 * unigram


def test_training_leaves_the_callers_random_generator_alone(text: Path, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    run = started(tmp_path / "run", text, dropout=0.2)
    next(run.train())
    assert torch.equal(torch.get_rng_state(), before)


def test_the_padding_row_stays_zero(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text)
    list(run.train())
    # a reader of the pair would lose a row that is not zero
    table = run.trainer.model.bilm.state_dict()["token_encoder.char_embedding.weight"]
    assert not table[0].any()
    assert table[1:].any()


def test_a_finished_run_loads_and_scores_as_the_run_did(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text)
    list(run.train())
    sentences = [["a", "b"], ["unseen", "d"]]
    loss, _ = run.evaluate(sentences)
    run.finish({"note": "toy"})
    checkpoint = load_checkpoint(run.model_folder, language_model=True)
    assert checkpoint.vocabulary is not None
    again = evaluate(
        FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids()),
        checkpoint.softmax_layer(),
        checkpoint.vocabulary,
        sentences,
    )
    assert again == loss
    assert checkpoint.provenance == {"note": "toy"}
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [10, 20, 30, 40, 50, 60]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"learning_rate": 0.01}, "other settings"), ({"num_streams": 3}, "other settings")],
)
def test_a_resume_under_other_settings_is_refused(
    text: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    run = started(tmp_path / "run", text)
    next(run.train())
    run.save()
    with pytest.raises(TrainingError, match=message):
        PretrainingRun(tmp_path / "run", recipe(**changes)).prepare([text], resume=True)


def test_a_resume_with_another_corpus_is_refused(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text)
    run.save()
    text.write_text(text.read_text() + "more text\n")
    with pytest.raises(TrainingError, match="another corpus"):
        PretrainingRun(tmp_path / "run", recipe()).prepare([text], resume=True)


def test_a_damaged_state_is_refused(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text)
    run.save()
    run.state_path.write_bytes(run.state_path.read_bytes()[:1000])
    with pytest.raises(TrainingError, match="damaged"):
        PretrainingRun(tmp_path / "run", recipe()).prepare([text], resume=True)


def test_a_second_run_in_the_same_folder_is_refused(text: Path, tmp_path: Path) -> None:
    started(tmp_path / "run", text).save()
    with pytest.raises(TrainingError, match="--resume"):
        started(tmp_path / "run", text)


def test_more_negatives_than_words_are_refused(text: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="num_samples"):
        started(tmp_path / "run", text, num_samples=7)


def test_an_exploding_loss_stops_with_a_reason(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text)
    with torch.no_grad():
        run.trainer.model.softmax.bias.fill_(math.nan)
    with pytest.raises(TrainingError, match="step 0"):
        next(run.train())


def test_perplexity_is_that_of_a_hand_made_softmax() -> None:
    """With zero weights the softmax knows its biases alone, so every loss is known."""
    checkpoint = random_checkpoint()
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a"])
    softmax = SoftmaxLayer(vocab_size=4, projection_dim=5)
    probabilities = torch.tensor([0.1, 0.2, 0.3, 0.4])
    with torch.no_grad():
        softmax.weight.zero_()
        softmax.bias.copy_(probabilities.log())
    frozen = FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids())
    loss = evaluate(frozen, softmax, vocabulary, [["a", "unknown"], [], ["a"]])
    assert loss.num_targets == 5  # a <UNK> </S> and a </S>; backward ends in <S>
    forward, backward = 0.4 * 0.3 * 0.2 * 0.4 * 0.2, 0.4 * 0.3 * 0.1 * 0.4 * 0.1
    # rounding of float32 log-probabilities, five of them
    assert loss.forward_perplexity == pytest.approx(forward ** (-1 / 5), rel=1e-5)
    assert loss.backward_perplexity == pytest.approx(backward ** (-1 / 5), rel=1e-5)
    assert loss.mean_perplexity == pytest.approx((forward * backward) ** (-1 / 10), rel=1e-5)


def test_perplexity_reads_every_word_in_its_own_context() -> None:
    """Against the definition, sentence by sentence, through the model in nn."""
    checkpoint = random_checkpoint(words=("a", "b", "c"))
    assert checkpoint.vocabulary is not None
    vocabulary, softmax, bilm = checkpoint.vocabulary, checkpoint.softmax_layer(), checkpoint.bilm()
    sentences = [["a"], ["b", "c", "a"], ["c", "b"]]
    total = {"forward": 0.0, "backward": 0.0}
    for sentence in sentences:
        framed = ["<S>", *sentence, "</S>"]
        ids = torch.from_numpy(checkpoint.token_ids().encode(framed))
        top = bilm(ids[None]).top_layer[0].detach()
        words = vocabulary.ids(framed)
        scores = {
            "forward": (top[:-1, :5], words[1:]),
            "backward": (top[1:, 5:], words[:-1]),
        }
        for direction, (hidden, targets) in scores.items():
            log_p = (hidden @ softmax.weight.T + softmax.bias).log_softmax(-1)
            total[direction] -= log_p[range(len(targets)), targets].sum().item()
    loss = evaluate(
        FrozenBiLm(checkpoint.bilm(), checkpoint.token_ids()), softmax, vocabulary, sentences
    )
    assert loss.forward == pytest.approx(total["forward"], rel=1e-5)  # float32 rounding
    assert loss.backward == pytest.approx(total["backward"], rel=1e-5)


def test_unigram_perplexity_counts_one_boundary_a_sentence(tmp_path: Path) -> None:
    corpus = encode_corpus([[["a", "a", "b"], ["a"]]], tmp_path / "c")
    vocabulary = corpus.vocabulary(5)
    # counts + 1: <S> 1, </S> 3, <UNK> 1, a 4, b 2, of 11
    expected = (4 / 11 * 1 / 11 * 3 / 11) ** (-1 / 3)
    assert unigram_perplexity(corpus, vocabulary, [["a", "z"], []]) == pytest.approx(expected)


def test_the_bundled_recipe_has_the_promised_sizes() -> None:
    model = load_recipe("mini-en").model
    assert (model.lstm.cell_dim, model.lstm.projection_dim, model.num_layers) == (1024, 128, 3)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("nonsense", "not TOML"),
        ("[training]\nnum_tokens = 5", r"\[model\] is missing"),
        ("[model.char_cnn]\n[model.lstm]\n[training]\nnum_tokens = 5", "argument"),
        ("[model.char_cnn]\ncolour = 1\n[model.lstm]\n[training]", "unknown key colour"),
    ],
)
def test_a_recipe_that_is_wrong_says_where(tmp_path: Path, toml: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(toml)
    with pytest.raises(TrainingError, match=message):
        load_recipe(str(path))


def test_streams_reset_half_of_the_sentence_starts(text: Path, tmp_path: Path) -> None:
    run = started(tmp_path / "run", text, num_streams=50, window_tokens=40, num_tokens=40_000)
    trainer = run.trainer
    kept = []
    for _ in range(20):
        for window in trainer._streams.next_windows():
            direction = trainer._direction(window, np.zeros_like(window.types))
            keep = direction.keep.numpy()
            assert keep[~window.starts].all()
            kept += keep[window.starts].tolist()
    # a fair coin over some thousands of starts: three standard deviations
    assert abs(np.mean(kept) - 0.5) < 3 * 0.5 / math.sqrt(len(kept))

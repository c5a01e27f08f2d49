"""De texto a texto: los ejemplos llevan sus marcas, y el lote no cambia ninguna traducción."""

import pytest
import torch

from course_lib.data.recipes import generate_recipes, translation_pairs
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.tokenization import ByteBPE
from course_lib.translation import Translator

PAIRS = translation_pairs(generate_recipes(30))
TEXTS = [PAIRS[i].source for i in (40, 3, 90, 0, 60)]


@pytest.fixture(scope="module")
def tokenizer():
    return ByteBPE.train((text for pair in PAIRS for text in pair[:2]), 500)


def make(tokenizer, **changes):
    torch.manual_seed(0)
    names = {f"{role}_id": tokenizer.special(f"<{mark}>") for role, mark in ROLES}
    sizes = {"d_model": 32, "num_heads": 2, "num_layers": 2, "d_ff": 64, "placement": "pre"}
    config = TransformerConfig(tokenizer.vocab_size, **sizes | names | changes)
    return Translator(tokenizer, Transformer(config).eval())


ROLES = (("pad", "pad"), ("start", "s"), ("end", "/s"))


@pytest.fixture(scope="module")
def translator(tokenizer):
    return make(tokenizer)


def test_an_example_begins_and_ends_where_it_should(translator):
    source, target = translator.example("Sal al gusto", "Salt to taste")
    config, decode = translator.model.config, translator.tokenizer.decode
    assert (source[-1], target[0], target[-1]) == (config.end_id, config.start_id, config.end_id)
    assert config.start_id not in source
    assert (decode(source), decode(target)) == ("Sal al gusto", "Salt to taste")


@pytest.mark.parametrize("beam_size", [1, 3])
def test_each_translation_is_the_one_of_its_text_alone(translator, beam_size):
    how = {"beam_size": beam_size, "max_new_tokens": 12}
    together = translator.translate(TEXTS, **how)
    assert together == [translator.translate([text], **how)[0] for text in TEXTS]
    assert len(set(together)) > 1


def test_more_texts_than_a_batch_keep_their_order(translator, monkeypatch):
    whole = translator.translate(TEXTS, max_new_tokens=8)
    monkeypatch.setattr("course_lib.translation.BATCH", 2)
    assert translator.translate(TEXTS, max_new_tokens=8) == whole


def test_no_texts(translator):
    assert translator.translate([]) == []


def test_one_text_is_not_a_list_of_letters(translator, as_user):
    with pytest.raises(ValueError, match="llegó uno; pásalo en una lista"):
        translator.translate("Sal al gusto")


def test_the_labels_of_the_tokens_are_their_text(translator):
    ids = translator.sources(["Pela las papas."])[0].tolist()
    labels = translator.tokens(ids)
    assert labels[-1] == "</s>"
    assert "".join(labels[:-1]) == "Pelalaspapas."


def test_a_model_of_another_vocabulary_is_refused(tokenizer, as_user):
    model = make(tokenizer).model
    other = ByteBPE.train(["otra cosa"], 300)
    with pytest.raises(ValueError, match="Crea el modelo con los números del tokenizador"):
        Translator(other, model)
    with pytest.raises(ValueError, match="relleno, comienzo y fin"):
        make(tokenizer, start_id=7)
    with pytest.raises(ValueError, match=f"lee {tokenizer.vocab_size} tokens y escribe 900"):
        make(tokenizer, target_vocab=900)

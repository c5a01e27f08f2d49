"""Un guion de entrenamiento cualquiera: no sabe si lo lanzan con torchrun."""

import argparse
import os
import signal
from pathlib import Path

import torch
from torch import nn

from course_lib.training.batches import TokenBatches
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import inverse_sqrt

VOCAB = 12


class Tagger(nn.Module):
    """Un modelo con un atributo `config`, como los del curso; con `spare`, tiene de sobra."""

    def __init__(self, dropout: float, spare: bool) -> None:
        super().__init__()
        self.config = {"vocab": VOCAB}
        self.body = nn.Sequential(nn.Embedding(VOCAB, 8), nn.Dropout(dropout), nn.Linear(8, VOCAB))
        if spare:
            self.spare = nn.Parameter(torch.ones(3))


class Loss:
    def __call__(self, model, batch):
        tokens, tags = batch
        assert model.config["vocab"] == VOCAB
        return cross_entropy(model.body(tokens), tags, ignore_id=0)

    def count(self, batch):
        return int((batch[1] != 0).sum())


def examples():
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, 9, (60,), generator=rng).tolist()
    rows = [torch.randint(1, VOCAB, (n,), generator=rng) for n in lengths]
    return [(row, (row * 5) % (VOCAB - 1) + 1) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--die-at", type=int)
    parser.add_argument("--spare", type=int, nargs="+", default=[0])
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    rank = int(os.environ.get("RANK", 0))
    results = [trained(rank, bool(spare), options) for spare in options.spare]
    torch.save(results, options.out / f"{rank}.pt")


def trained(rank: int, spare: bool, options: argparse.Namespace) -> dict:
    torch.manual_seed(rank)  # a propósito: cada proceso crea otro modelo
    model, watched = Tagger(options.dropout, spare), []

    def on_step(step, model):
        watched.append(step)
        if step == options.die_at + 1 if options.die_at else False:
            os.kill(os.getpid(), signal.SIGKILL)

    history = train(
        model,
        Loss(),
        TokenBatches(examples(), batch_size=4),
        steps=6,
        schedule=inverse_sqrt(8, 4),
        accumulate=options.accumulate,
        checkpoint=options.out / f"checkpoint-{spare:d}",
        checkpoint_every=2,
        on_step=on_step,
    )
    return {
        "model": model.state_dict(),
        "watched": len(watched),
        "draw": torch.rand(1).item(),
        "tokens": history.tokens,
        "loss": history.loss,
        "grad_norm": history.grad_norm,
        "learning_rate": history.learning_rate,
    }


if __name__ == "__main__":
    main()

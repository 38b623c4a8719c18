"""The training loop of all kinds of models."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from model.failure import TrainingFailure

LEARNING_RATE = 2e-3
WEIGHT_DECAY = 1e-4
# Few images are gone over several times an epoch, so that one means something.
LEAST_STEPS = 20
LEAST_EPOCHS = 15
"""So many there are also where the default time is over, as a slow host is to give a good model."""
PATIENCE = 12
"""Epochs without a better validation after which training ends."""
LEAST_GAIN, LEAST_FALL = 0.02, 0.002
"""By this share and by this much the cost has to fall to count as better."""


@dataclass(frozen=True)
class Judgement:
    """How good the network is on images that it was not trained on."""

    score: float
    """Accuracy or mean average precision, 0 to 1; more is better."""
    loss: float
    cost: float
    """What the best epoch is chosen by; less is better."""


@dataclass(frozen=True)
class Plan:
    """How long to train."""

    epochs: int
    least_epochs: int
    """Not cut off by `seconds`."""
    seconds: float
    batch: int


def plan(pictures: int, epochs: int | None, seconds: float | None, batch: int) -> Plan:
    """Four minutes for up to 300 images, more for more."""
    return Plan(
        epochs=epochs or 80,
        least_epochs=0 if seconds else LEAST_EPOCHS,
        seconds=seconds or max(240.0, 0.8 * pictures),
        batch=min(batch, max(4, pictures // 4)),
    )


def fit(
    network: keras.Model,
    loss: Callable[..., tf.Tensor],
    images: np.ndarray,
    targets: tuple[np.ndarray, ...],
    train: np.ndarray,
    validate: Callable[[], Judgement],
    limits: Plan,
    seed: int,
) -> Judgement:
    """Trains, and leaves the network with the weights of its best epoch.

    loss: of a batch of images (uint8) and its targets, a scalar.
    train: indices into images and targets.

    Prints a line for each epoch. Raises TrainingFailure when the loss is not a number any more.
    """
    step = _step(network, loss)
    random = np.random.default_rng(seed)
    steps = math.ceil(len(train) / limits.batch)
    rounds = math.ceil(LEAST_STEPS / steps)
    started = time.monotonic()

    def is_over(whole_epochs: int) -> bool:
        return whole_epochs >= limits.least_epochs and time.monotonic() - started > limits.seconds

    best, best_weights, best_epoch = None, network.get_weights(), 0
    for epoch in range(1, limits.epochs + 1):
        begun = time.monotonic()
        # The time's share runs no faster than that of the least epochs.
        passed = min((begun - started) / limits.seconds, (epoch - 1) / max(1, limits.least_epochs))
        done = max((epoch - 1) / limits.epochs, passed)
        rate = LEARNING_RATE * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(done, 1.0))))
        order = np.concatenate([random.permutation(train) for _ in range(rounds)])
        losses = []
        for at in range(0, len(order), limits.batch):
            chosen = order[at : at + limits.batch]
            batch = [np.asarray(part[chosen]) for part in (images, *targets)]
            losses.append(float(step(rate * min(1.0, (epoch - 1) + (at + 1) / len(order)), *batch)))
            if is_over(epoch - 1):
                break
        mean = float(np.mean(losses))
        if not math.isfinite(mean):
            raise TrainingFailure(f"the loss of epoch {epoch} is not a number; the job cannot go on")
        now = validate()
        print(
            f"epoch {epoch}/{limits.epochs} loss {mean:.4f} validation_loss {now.loss:.4f} "
            f"validation_score {now.score:.4f} seconds {time.monotonic() - begun:.1f}",
            flush=True,
        )
        if best is None or _is_better(now, best):
            best, best_weights, best_epoch = now, network.get_weights(), epoch
        if epoch - best_epoch >= PATIENCE:
            print(f"no better for {PATIENCE} epochs, taking epoch {best_epoch}", flush=True)
            break
        if is_over(epoch):
            print(f"the time of {limits.seconds:.0f} s is over, taking epoch {best_epoch}", flush=True)
            break
    network.set_weights(best_weights)
    return best


def _is_better(now: Judgement, best: Judgement) -> bool:
    return now.cost < best.cost - max(LEAST_GAIN * best.cost, LEAST_FALL)


def _step(network: keras.Model, loss: Callable[..., tf.Tensor]):
    optimizer = keras.optimizers.AdamW(LEARNING_RATE, WEIGHT_DECAY, global_clipnorm=5.0)
    optimizer.build(network.trainable_variables)

    @tf.function(reduce_retracing=True)
    def compiled(*batch: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(*batch)
        gradients = tape.gradient(value, network.trainable_variables)
        optimizer.apply(gradients, network.trainable_variables)
        return value

    def step(rate: float, *batch: np.ndarray) -> tf.Tensor:
        optimizer.learning_rate = rate
        return compiled(*(tf.constant(part) for part in batch))

    return step

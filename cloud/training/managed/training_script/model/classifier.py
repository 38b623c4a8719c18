"""Models that say what a whole image shows: one label, or any number of them."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from model.augmentation import augmented
from model.dataset import Dataset
from model.fitting import Judgement
from model.network import backbone, normalised, separable
from model.options import SINGLE_LABEL
from model.tflite import interpreter, write_model

BATCH = 32
DROPOUT = 0.2


class Classifier:
    """A network whose outputs are the labels' probabilities."""

    smallest_side, largest_side, batch = 96, 224, BATCH

    def __init__(self, labels: list[str], side: int, model_type: str):
        self.labels = labels
        self.side = side
        self.is_single = model_type == SINGLE_LABEL
        self.backbone = backbone(side)
        x = separable(self.backbone.output[1], 192, 2, "head")
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dropout(DROPOUT)(x)
        self.network = keras.Model(self.backbone.input, layers.Dense(len(labels))(x))
        self._judge = tf.function(self._logits, reduce_retracing=True)

    def targets(self, dataset: Dataset) -> tuple[np.ndarray, ...]:
        """[N, labels] with 1 for each label that an image has, and [N] with an image's weight."""
        has = np.zeros((len(dataset.examples), len(self.labels)), np.float32)
        for row, example in enumerate(dataset.examples):
            has[row, [self.labels.index(label) for label in example.labels]] = 1
        if not self.is_single:
            return has, np.ones(len(has), np.float32)
        # Rare labels count more, by the square root, so that one image does not rule.
        counts = np.maximum(has.sum(axis=0), 1)
        weights = np.sqrt(len(has) / (len(self.labels) * counts))
        return has, (has @ weights).astype(np.float32)

    def loss(self, images: tf.Tensor, has: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        """Of a batch in training."""
        pictures, _ = augmented(normalised(images), "REFLECT")
        logits = self.network(pictures, training=True)
        return tf.reduce_mean(weights * self._losses(logits, has))

    def judge(self, images: np.ndarray, targets: tuple[np.ndarray, ...], chosen: np.ndarray):
        """Accuracy and loss on the chosen images."""
        has = targets[0][chosen]
        batches = [chosen[at : at + BATCH] for at in range(0, len(chosen), BATCH)]
        logits = np.concatenate([self._judge(tf.constant(images[batch])) for batch in batches])
        loss = float(np.mean(self._losses(tf.constant(logits), has)))
        # The loss tells more than the accuracy of few images does.
        return Judgement(self._accuracy(logits, has), loss, loss)

    def write(self, file: Path) -> None:
        """Writes the model; its one output, `probability`, is [1, labels]."""
        activation = tf.nn.softmax if self.is_single else tf.sigmoid
        write_model(
            lambda image: [activation(self._logits(image))], self.side, ["probability"], file
        )

    def measure(self, file: Path, images: np.ndarray, targets, chosen: np.ndarray) -> dict:
        """What the written file is worth, by running it."""
        run = interpreter(file)
        probabilities = np.concatenate([run(images[index])[0] for index in chosen])
        accuracy = self._accuracy(probabilities - 0.5, targets[0][chosen])
        return {"validation_accuracy": round(accuracy, 4)}

    def _logits(self, images: tf.Tensor) -> tf.Tensor:
        return self.network(normalised(images), training=False)

    def _losses(self, logits: tf.Tensor, has: tf.Tensor) -> tf.Tensor:
        if self.is_single:
            return tf.nn.softmax_cross_entropy_with_logits(has, logits)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(has, logits), axis=1)

    def _accuracy(self, outputs: np.ndarray, has: np.ndarray) -> float:
        """outputs above 0 mean yes where any number of labels may be right.

        Single: the share of images whose label is right. Multi: the share of right answers to
        "has this image this label?".
        """
        if self.is_single:
            return float(np.mean(outputs.argmax(axis=1) == has.argmax(axis=1)))
        return float(np.mean((outputs > 0) == (has > 0)))

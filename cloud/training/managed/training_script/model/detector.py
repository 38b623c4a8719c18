"""Models that say what is where in an image: a single-shot detector with anchors."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from model.anchors import PER_CELL, anchor_boxes, decoded, matched
from model.augmentation import augmented, moved_boxes
from model.average_precision import Found, Truth, mean_average_precision
from model.dataset import Dataset
from model.fitting import Judgement
from model.network import backbone, normalised, separable
from model.tflite import interpreter, write_model

CHANNELS = 64
BATCH = 16
MOST_FOUND = 25
"""Rows of the model's output; those that hold nothing have score 0."""
LEAST_SCORE = 0.05
SAME_OBJECT = 0.5
"""Overlap from which the less sure of two boxes of a class is dropped."""
# Of the focal loss: almost all anchors hold nothing, and most of them are easy.
FOCUS, OBJECT_SHARE = 2.0, 0.25
BOX_WEIGHT = 1.0
# Of the loss in what the best epoch is chosen by: it decides between equal precisions.
LOSS_SHARE = 0.05


class Detector:
    """A network that gives each anchor a box and the classes' probabilities."""

    smallest_side, largest_side, batch = 128, 256, BATCH

    def __init__(self, labels: list[str], side: int, _model_type: str):
        self.labels = labels
        self.side = side
        self.anchors = tf.constant(anchor_boxes(side))
        self.backbone = backbone(side)
        self.network = self._with_heads()
        self._batch = tf.function(self._outputs, reduce_retracing=True)
        self._pick = tf.function(self._picked)
        self._judge_loss = tf.function(self._loss, reduce_retracing=True)

    def targets(self, dataset: Dataset) -> tuple[np.ndarray, ...]:
        """Boxes [N, M, 4] and classes [N, M], -1 where an image has fewer boxes."""
        most = max(len(example.boxes) for example in dataset.examples)
        boxes = np.zeros((len(dataset.examples), most, 4), np.float32)
        classes = np.full((len(dataset.examples), most), -1, np.int32)
        for row, example in enumerate(dataset.examples):
            if example.boxes:
                boxes[row, : len(example.boxes)] = example.boxes
                classes[row, : len(example.boxes)] = [self.labels.index(l) for l in example.labels]
        return boxes, classes

    def loss(self, images: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
        """Of a batch in training."""
        pictures, move = augmented(normalised(images), "CONSTANT")
        boxes, classes = moved_boxes(boxes, classes, move)
        return self._loss(self.network(pictures, training=True), boxes, classes)

    def judge(self, images: np.ndarray, targets: tuple[np.ndarray, ...], chosen: np.ndarray):
        """Mean average precision and loss on the chosen images."""
        found, losses = [], []
        for at in range(0, len(chosen), BATCH):
            batch = chosen[at : at + BATCH]
            raw = self._batch(tf.constant(images[batch]))
            losses.append(float(self._judge_loss(raw, *(part[batch] for part in targets))))
            found += [self._found(self._pick(*row)) for row in zip(*raw, strict=True)]
        truth = _truth(targets, chosen)
        score = mean_average_precision(found, truth, len(self.labels))
        loss = float(np.mean(losses))
        return Judgement(score, loss, 1 - score + LOSS_SHARE * loss)

    def write(self, file: Path) -> None:
        """Writes the model, with outputs as detectors of TensorFlow Lite have them.

        `location` [1, 25, 4] y_min, x_min, y_max, x_max as shares; `category` [1, 25] index of
        the label; `score` [1, 25], falling; `count` [1] of rows that hold something.
        """
        names = ["location", "category", "score", "count"]
        write_model(self._detections, self.side, names, file)

    def measure(self, file: Path, images: np.ndarray, targets, chosen: np.ndarray) -> dict:
        """What the written file is worth, by running it."""
        run = interpreter(file)
        found = [self._found(run(images[index])) for index in chosen]
        value = mean_average_precision(found, _truth(targets, chosen), len(self.labels))
        return {"validation_map_50": round(value, 4)}

    def _with_heads(self) -> keras.Model:
        """Predicts at an eighth, a sixteenth and a thirty-second of the image's size."""
        eighth, sixteenth = self.backbone.output
        thirty_second = separable(sixteenth, CHANNELS, 2, "neck_32")
        # What is large helps to tell what is small.
        wide = layers.UpSampling2D(2)(layers.Conv2D(CHANNELS, 1)(thirty_second))
        sixteenth = layers.Add()([layers.Conv2D(CHANNELS, 1)(sixteenth), wide])
        sixteenth = separable(sixteenth, CHANNELS, 1, "neck_16")
        wide = layers.UpSampling2D(2)(sixteenth)
        eighth = layers.Add()([layers.Conv2D(CHANNELS, 1)(eighth), wide])
        eighth = separable(eighth, CHANNELS, 1, "neck_8")
        heads = [self._head(x, name) for x, name in
                 ((eighth, "head_8"), (sixteenth, "head_16"), (thirty_second, "head_32"))]
        offsets = layers.Concatenate(axis=1)([head[0] for head in heads])
        logits = layers.Concatenate(axis=1)([head[1] for head in heads])
        return keras.Model(self.backbone.input, [offsets, logits])

    def _head(self, x, name: str):
        x = separable(x, CHANNELS, 1, name)
        offsets = layers.Conv2D(PER_CELL * 4, 1)(x)
        # At first each anchor is to hold something with a chance of 1 %.
        rare = keras.initializers.Constant(-4.6)
        logits = layers.Conv2D(PER_CELL * len(self.labels), 1, bias_initializer=rare)(x)
        return layers.Reshape((-1, 4))(offsets), layers.Reshape((-1, len(self.labels)))(logits)

    def _outputs(self, images: tf.Tensor) -> list[tf.Tensor]:
        return self.network(normalised(images), training=False)

    def _loss(self, raw, boxes: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
        offsets, logits = raw
        wanted_offsets, kind = matched(self.anchors, boxes, classes)
        is_object = tf.cast(kind >= 0, tf.float32)
        objects = tf.maximum(tf.reduce_sum(is_object), 1.0)
        wanted = tf.one_hot(kind, len(self.labels))
        chance = tf.sigmoid(logits)
        miss = wanted * (1 - chance) + (1 - wanted) * chance
        share = wanted * OBJECT_SHARE + (1 - wanted) * (1 - OBJECT_SHARE)
        crossed = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
        focal = tf.reduce_sum(share * miss**FOCUS * crossed, axis=-1)
        aside = tf.abs(offsets - wanted_offsets)
        smooth = tf.reduce_sum(tf.where(aside < 1, 0.5 * aside**2, aside - 0.5), axis=-1)
        told = tf.reduce_sum(focal * tf.cast(kind > -2, tf.float32))
        return (told + BOX_WEIGHT * tf.reduce_sum(smooth * is_object)) / objects

    def _detections(self, image: tf.Tensor) -> list[tf.Tensor]:
        offsets, logits = self._outputs(image)
        boxes, classes, scores, count = self._picked(offsets[0], logits[0])
        return [boxes[None], classes[None], scores[None], count[None]]

    def _picked(self, offsets: tf.Tensor, logits: tf.Tensor) -> list[tf.Tensor]:
        """Of one image's anchors those that hold something, surest first, each thing once."""
        boxes = decoded(offsets, self.anchors)
        scores = tf.reduce_max(tf.sigmoid(logits), axis=-1)
        classes = tf.cast(tf.argmax(logits, axis=-1, output_type=tf.int32), tf.float32)
        # Boxes of different classes are moved apart, so that one pass drops within each class.
        picked, sure, count = tf.raw_ops.NonMaxSuppressionV5(
            boxes=boxes + 2.0 * classes[:, None],
            scores=scores,
            max_output_size=MOST_FOUND,
            iou_threshold=SAME_OBJECT,
            score_threshold=LEAST_SCORE,
            soft_nms_sigma=0.0,
            pad_to_max_output_size=True,
        )
        is_found = tf.cast(sure > 0, tf.float32)
        rows = tf.gather(boxes, picked) * is_found[:, None]
        return [rows, tf.gather(classes, picked) * is_found, sure, tf.cast(count, tf.float32)]

    def _found(self, outputs: list) -> Found:
        boxes, classes, scores, count = (np.asarray(output) for output in outputs)
        rows = int(count.reshape(-1)[0])
        flat = boxes.reshape(-1, 4), classes.reshape(-1), scores.reshape(-1)
        return tuple(part[:rows] for part in flat)


def _truth(targets: tuple[np.ndarray, ...], chosen: np.ndarray) -> list[Truth]:
    boxes, classes = targets
    return [(boxes[row][classes[row] >= 0], classes[row][classes[row] >= 0]) for row in chosen]

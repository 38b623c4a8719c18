"""Makes the models beside it, by hand and without training: python make_models.py

colour.tflite tells which of red, green and blue a picture has most of; box.tflite gives one box
around what is red. Inputs and outputs are those of managed training, whose code writes the files,
so this needs what cloud/training/managed/training_script/requirements.txt names.
"""

import sys
from pathlib import Path

import tensorflow as tf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "cloud/training/managed/training_script"))

from model.tflite import write_model  # noqa: E402

SIDE = 16


def colour(image: tf.Tensor) -> list[tf.Tensor]:
    mean = tf.reduce_mean(tf.cast(image, tf.float32), axis=[1, 2])
    return [tf.nn.softmax(mean / 16)]


def box(image: tf.Tensor) -> list[tf.Tensor]:
    red, green, blue = (tf.cast(image[0, :, :, at], tf.float32) for at in range(3))
    is_red = tf.cast(tf.logical_and(red > green + 64, red > blue + 64), tf.float32)
    y_min, y_max = _span(tf.reduce_max(is_red, axis=1))
    x_min, x_max = _span(tf.reduce_max(is_red, axis=0))
    score = tf.reduce_max(is_red)
    location = tf.reshape(tf.stack([y_min, x_min, y_max, x_max]), [1, 1, 4])
    return [
        location,
        tf.zeros([1, 1]) * score,
        tf.reshape(score * 0.75, [1, 1]),
        tf.reshape(score, [1]),
    ]


def _span(line: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    first = tf.cast(tf.argmax(line), tf.float32)
    last = tf.cast(tf.argmax(line[::-1]), tf.float32)
    return first / SIDE, 1 - last / SIDE


if __name__ == "__main__":
    write_model(colour, SIDE, ["probability"], HERE / "colour.tflite")
    write_model(box, SIDE, ["location", "category", "score", "count"], HERE / "box.tflite")

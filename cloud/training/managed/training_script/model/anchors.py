"""The boxes that a detector starts from, and how boxes are told relative to them.

Boxes are y_min, x_min, y_max, x_max as shares of the image's height and width.
"""

import numpy as np
import tensorflow as tf

STRIDES = (8, 16, 32)
# In strides. With the next map's twice as large ones the sizes go up in equal steps.
SIZES = (2.0, 2.8)
# Width by height.
SHAPES = (1.0, 2.0, 0.5)
PER_CELL = len(SIZES) * len(SHAPES)
# An anchor learns a box that it overlaps by the first, nothing that it overlaps by the second.
IS_OBJECT, IS_NOTHING = 0.5, 0.4
# Makes the numbers to learn about as large as 1.
CENTRE_SCALE, SIZE_SCALE = 0.1, 0.2


def anchor_boxes(side: int) -> np.ndarray:
    """All anchors, float32 [A, 4] as y, x of the middle, height, width."""
    anchors = []
    for stride in STRIDES:
        middles = (np.arange(side // stride) + 0.5) * stride / side
        for y in middles:
            for x in middles:
                for size in SIZES:
                    for shape in SHAPES:
                        edge = size * stride / side
                        anchors.append((y, x, edge / np.sqrt(shape), edge * np.sqrt(shape)))
    return np.array(anchors, np.float32)


def corners(boxes):
    """From y, x of the middle, height, width to corners."""
    half = boxes[..., 2:] / 2
    return tf.concat([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)


def overlaps(boxes: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """Intersection over union of each of [..., N, 4] with each of [..., M, 4]: [..., N, M]."""
    a, b = boxes[..., :, None, :], others[..., None, :, :]
    sides = tf.minimum(a[..., 2:], b[..., 2:]) - tf.maximum(a[..., :2], b[..., :2])
    shared = tf.reduce_prod(tf.maximum(sides, 0.0), axis=-1)
    both = _areas(a) + _areas(b) - shared
    return shared / tf.maximum(both, 1e-9)


def matched(anchors: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor):
    """What each anchor is to learn.

    anchors [A, 4]; boxes [B, M, 4] and classes [B, M], -1 where there is no box.

    Returns the boxes [B, A, 4] relative to the anchors; their classes [B, A], -1 for nothing and -2
    where neither is to be learned.
    """
    shares = overlaps(corners(anchors)[None], boxes)
    shares = tf.where((classes >= 0)[:, None, :], shares, 0.0)
    best = tf.reduce_max(shares, axis=2)
    # Each box has at least the anchor that fits it best.
    fits_best = (shares > 0.1) & (shares >= tf.reduce_max(shares, axis=1, keepdims=True))
    is_forced = tf.reduce_any(fits_best, axis=2)
    choice = tf.argmax(shares + 2.0 * tf.cast(fits_best, tf.float32), axis=2)
    chosen = tf.gather(boxes, choice, batch_dims=1)
    kind = tf.gather(classes, choice, batch_dims=1)
    kind = tf.where(is_forced | (best >= IS_OBJECT), kind, tf.where(best < IS_NOTHING, -1, -2))
    return _encoded(chosen, anchors), kind


def decoded(offsets: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
    """Corners of boxes that are told relative to anchors, inside the image."""
    middles = offsets[..., :2] * CENTRE_SCALE * anchors[:, 2:] + anchors[:, :2]
    # An untrained network says anything: no box is larger than 50 anchors.
    sizes = tf.exp(tf.minimum(offsets[..., 2:] * SIZE_SCALE, 4.0)) * anchors[:, 2:]
    return tf.clip_by_value(corners(tf.concat([middles, sizes], axis=-1)), 0.0, 1.0)


def _encoded(boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
    sizes = tf.maximum(boxes[..., 2:] - boxes[..., :2], 1e-4)
    middles = (boxes[..., :2] + boxes[..., 2:]) / 2
    aside = (middles - anchors[:, :2]) / anchors[:, 2:] / CENTRE_SCALE
    return tf.concat([aside, tf.math.log(sizes / anchors[:, 2:]) / SIZE_SCALE], axis=-1)


def _areas(boxes: tf.Tensor) -> tf.Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])

"""Changing images a little each time they are seen, so that few teach as much as many."""

import tensorflow as tf

ZOOM = (0.8, 1.25)
SHIFT = 0.1
BRIGHTNESS = 0.15
CONTRAST = (0.8, 1.2)
SATURATION = (0.7, 1.3)
# Of a box that is shifted out of the image.
LEAST_SHARE_LEFT = 0.3


def augmented(images: tf.Tensor, fill: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Mirrors, zooms, shifts, and changes the light of a batch.

    images: float32 in -1 to 1, [B, S, S, 3].
    fill: what is put where there is no image any more, "REFLECT" or "CONSTANT" (grey).

    Returns the batch, and for each image (scale y, shift y, scale x, shift x): where a point of
    the old image is in the new one, `new = scale * old + shift`, in shares of its size.
    """
    count = tf.shape(images)[0]
    side = tf.cast(tf.shape(images)[1], tf.float32)
    zoom = tf.exp(tf.random.uniform([count], tf.math.log(ZOOM[0]), tf.math.log(ZOOM[1])))
    mirror = tf.where(tf.random.uniform([count]) < 0.5, -1.0, 1.0)
    scale_y, scale_x = zoom, zoom * mirror
    # About the middle of the image, then aside.
    shift_y = 0.5 - 0.5 * scale_y + tf.random.uniform([count], -SHIFT, SHIFT)
    shift_x = 0.5 - 0.5 * scale_x + tf.random.uniform([count], -SHIFT, SHIFT)
    nought = tf.zeros([count])
    # The operation asks for the way back, from new pixels to old ones.
    back = [1 / scale_x, nought, -shift_x / scale_x * side]
    back += [nought, 1 / scale_y, -shift_y / scale_y * side, nought, nought]
    images = tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.stack(back, axis=1),
        output_shape=tf.shape(images)[1:3],
        fill_value=0.0,
        interpolation="BILINEAR",
        fill_mode=fill,
    )
    return _lit(images, count), tf.stack([scale_y, shift_y, scale_x, shift_x], axis=1)


def moved_boxes(boxes: tf.Tensor, classes: tf.Tensor, move: tf.Tensor):
    """Moves boxes [B, M, 4] with their images; classes [B, M] of those that left become -1."""
    scale_y, shift_y, scale_x, shift_x = (move[:, at : at + 1] for at in range(4))
    y = tf.stack([boxes[..., 0], boxes[..., 2]], -1) * scale_y[..., None] + shift_y[..., None]
    x = tf.stack([boxes[..., 1], boxes[..., 3]], -1) * scale_x[..., None] + shift_x[..., None]
    y, x = tf.sort(y, axis=-1), tf.sort(x, axis=-1)
    whole = (y[..., 1] - y[..., 0]) * (x[..., 1] - x[..., 0])
    y, x = tf.clip_by_value(y, 0.0, 1.0), tf.clip_by_value(x, 0.0, 1.0)
    left = (y[..., 1] - y[..., 0]) * (x[..., 1] - x[..., 0])
    is_kept = left > LEAST_SHARE_LEFT * whole
    moved = tf.stack([y[..., 0], x[..., 0], y[..., 1], x[..., 1]], axis=-1)
    return moved, tf.where(is_kept, classes, -1)


def _lit(images: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Other brightness, contrast and saturation for each image. Hues stay: they may be the label."""

    def random(low: float, high: float) -> tf.Tensor:
        return tf.random.uniform([count, 1, 1, 1], low, high)

    grey = tf.reduce_mean(images, axis=3, keepdims=True)
    images = grey + (images - grey) * random(*SATURATION)
    mean = tf.reduce_mean(images, axis=[1, 2, 3], keepdims=True)
    images = mean + (images - mean) * random(*CONTRAST)
    return tf.clip_by_value(images + 2 * random(-BRIGHTNESS, BRIGHTNESS), -1.0, 1.0)

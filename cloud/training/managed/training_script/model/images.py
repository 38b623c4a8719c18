"""Decoding images into one array."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import tensorflow as tf

from model.failure import TrainingFailure

SIZES_LOOKED_AT = 200
"""Images that the size of the model's input is taken from."""


def input_side(paths: list[Path], smallest: int, largest: int) -> int:
    """Side of the model's square input: that of the middle image, in steps of 32."""
    sizes = [image.shape for _, image in islice(_decoded(paths), SIZES_LOOKED_AT)]
    if not sizes:
        raise TrainingFailure(f"none of the {len(paths)} images could be read as an image")
    middle = float(np.median([np.sqrt(shape[0] * shape[1]) for shape in sizes]))
    return int(np.clip(round(middle / 32) * 32, smallest, largest))


def load_images(paths: list[Path], side: int, cache: Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads images, stretched to a square.

    They are kept in a file, so that a large dataset does not have to fit into memory.

    Returns uint8 [N, side, side, 3], and the indices of the paths that they came from: images
    that cannot be read are left out.
    """
    cache.parent.mkdir(parents=True, exist_ok=True)
    images = np.memmap(cache, dtype=np.uint8, mode="w+", shape=(len(paths), side, side, 3))
    kept: list[int] = []
    for index, image in _decoded(paths):
        images[len(kept)] = resized(image, side)
        kept.append(index)
        if len(kept) % 2000 == 0:
            print(f"read {len(kept)} of {len(paths)} images", flush=True)
    if len(kept) < len(paths):
        missing = set(range(len(paths))) - set(kept)
        names = ", ".join(paths[index].name for index in sorted(missing)[:5])
        count = "1 image" if len(missing) == 1 else f"{len(missing)} images"
        print(f"left out {count} that cannot be read: {names}", flush=True)
    return images[: len(kept)], np.array(kept, dtype=np.int64)


def resized(image: tf.Tensor, side: int) -> np.ndarray:
    """An image stretched to a square, uint8."""
    if image.shape[0] == side and image.shape[1] == side:
        return image.numpy()
    scaled = tf.image.resize(image, (side, side), antialias=True)
    return tf.cast(tf.round(tf.clip_by_value(scaled, 0, 255)), tf.uint8).numpy()


def _decoded(paths: Iterable[Path]) -> Iterator[tuple[int, tf.Tensor]]:
    for index, path in enumerate(paths):
        try:
            data = path.read_bytes()
            image = tf.io.decode_image(data, channels=3, expand_animations=False)
        except (OSError, tf.errors.OpError):
            continue
        if image.shape[0] and image.shape[1]:
            yield index, image

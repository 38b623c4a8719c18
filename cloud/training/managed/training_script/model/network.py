"""The part of the network that classifier and detector share: depthwise separable convolutions."""

from pathlib import Path

import keras
import tensorflow as tf
from keras import layers

from model.failure import TrainingFailure

# Channels and stride of each block behind the first convolution, which halves the image.
BLOCKS = ((40, 2), (40, 1), (80, 2), (80, 1), (128, 2), (128, 1))
# Few steps an epoch: the running averages have to follow sooner than Keras' default of 0.99 does.
MOMENTUM = 0.9


def normalised(images: tf.Tensor) -> tf.Tensor:
    """From uint8 to float32 in -1 to 1, as the network takes images."""
    return tf.cast(images, tf.float32) / 127.5 - 1.0


def backbone(side: int) -> keras.Model:
    """From images, float32 in -1 to 1, to features at an eighth and a sixteenth of their size."""
    pictures = layers.Input((side, side, 3))
    x = layers.Conv2D(24, 3, 2, padding="same", use_bias=False, name="stem")(pictures)
    x = activated(x, "stem")
    eighth = x
    for number, (channels, stride) in enumerate(BLOCKS, 1):
        if number == len(BLOCKS) - 1:
            eighth = x
        x = separable(x, channels, stride, f"block_{number}")
    return keras.Model(pictures, [eighth, x], name="backbone")


def separable(x, channels: int, stride: int, name: str):
    """A depthwise convolution and one across channels, with a way around them where shapes allow."""
    around = x
    x = layers.DepthwiseConv2D(
        3, stride, padding="same", use_bias=False, name=f"{name}_depthwise"
    )(x)
    x = activated(x, f"{name}_depthwise")
    x = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_pointwise")(x)
    x = activated(x, f"{name}_pointwise")
    return layers.Add(name=f"{name}_add")([around, x]) if around.shape == x.shape else x


def activated(x, name: str):
    """Normalised over the batch, then ReLU6."""
    x = layers.BatchNormalization(momentum=MOMENTUM, name=f"{name}_norm")(x)
    return layers.ReLU(6.0, name=f"{name}_relu")(x)


def load_weights(network: keras.Model, file: Path) -> None:
    """Starts the backbone from a file of `save_weights`."""
    try:
        network.load_weights(file)
    except Exception as error:
        raise TrainingFailure(
            f"cannot start from the weights file {file}: it has to be a .weights.h5 that a "
            f"training wrote with --save_weights ({str(error).splitlines()[0]})"
        ) from error


def save_weights(network: keras.Model, file: Path) -> None:
    """Writes the backbone's weights, which do not depend on labels or the size of images."""
    if not file.name.endswith(".weights.h5"):
        raise TrainingFailure(f"--save_weights {file}: the name has to end in .weights.h5")
    file.parent.mkdir(parents=True, exist_ok=True)
    network.save_weights(file, overwrite=True)

"""A module that runs TensorFlow Lite models, as docs/training.md makes them.

example:tflite:model is an ML model service: tensors in, tensors out. example:tflite:vision is a
vision service: it looks at a camera with such a model, and tells labels or boxes.
"""

import asyncio

from viam.module.module import Module

import ml_model  # noqa: F401 (makes its model known)
import vision  # noqa: F401 (makes its model known)

if __name__ == "__main__":
    asyncio.run(Module.run_from_registry())

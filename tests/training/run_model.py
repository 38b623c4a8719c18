"""Runs a TensorFlow Lite model: run_model.py FILE SIDE <PIXELS

The pixels of pictures, SIDE x SIDE x 3 bytes each, come in one after another. Prints JSON: the
names of the outputs, the operations, and for each picture what each output held, flattened.
"""

import json
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter

file, side = sys.argv[1], int(sys.argv[2])
pixels = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(-1, 1, side, side, 3)
interpreter = Interpreter(model_path=file)
interpreter.allocate_tensors()
(picture,) = interpreter.get_input_details()
outputs = interpreter.get_output_details()
results = []
for image in pixels:
    interpreter.set_tensor(picture["index"], image)
    interpreter.invoke()
    results.append([interpreter.get_tensor(o["index"]).reshape(-1).tolist() for o in outputs])
print(json.dumps({
    "outputs": [{"name": o["name"], "shape": o["shape"].tolist()} for o in outputs],
    "results": results,
}))

"""Writes the message descriptors inside the published Python SDK to standard output.

The output is one serialized google.protobuf.FileDescriptorSet: every generated file of the SDK and
every file those import, each once, imports first.
"""

import importlib
import pathlib
import sys

import viam.gen
from google.protobuf import descriptor_pb2


def generated_modules():
    root = pathlib.Path(viam.gen.__file__).parent
    for path in sorted(root.rglob("*_pb2.py")):
        yield ".".join(("viam", "gen", *path.relative_to(root).with_suffix("").parts))


def collect(file, seen, out):
    if file.name in seen:
        return
    seen.add(file.name)
    for dependency in file.dependencies:
        collect(dependency, seen, out)
    file.CopyToProto(out.file.add())


def main():
    out = descriptor_pb2.FileDescriptorSet()
    seen = set()
    for name in generated_modules():
        collect(importlib.import_module(name).DESCRIPTOR, seen, out)
    sys.stdout.buffer.write(out.SerializeToString())


main()

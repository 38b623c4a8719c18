import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FlatTensor, FlatTensorSchema } from "../gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { numbersOf, type NumberType, type OutputTensor } from "./tensors.ts";

type FlatInit = MessageInitShape<typeof FlatTensorSchema>;

/** A tensor as APIs carry it. */
export function flatTensor({ type, shape, values }: Omit<OutputTensor, "name">): FlatInit {
  return { shape: shape.map(BigInt), tensor: tensorOf(type, listOf(values)) };
}

/** As `Array.from`, in a tenth of its time for the typed arrays of images. */
function listOf(values: ArrayLike<number>): number[] {
  const list = new Array<number>(values.length);
  for (let index = 0; index < values.length; index++) list[index] = values[index]!;
  return list;
}

function tensorOf(type: NumberType, data: number[]): NonNullable<FlatInit["tensor"]> {
  switch (type) {
    case "int8":
      return { case: "int8Tensor", value: { data: new Uint8Array(Int8Array.from(data).buffer) } };
    case "uint8":
      return { case: "uint8Tensor", value: { data: Uint8Array.from(data) } };
    case "int16":
      return { case: "int16Tensor", value: { data: data.map((value) => value & 0xffff) } };
    case "uint16":
      return { case: "uint16Tensor", value: { data } };
    case "int32":
      return { case: "int32Tensor", value: { data } };
    case "uint32":
      return { case: "uint32Tensor", value: { data } };
    case "float32":
      return { case: "floatTensor", value: { data } };
  }
}

/** What a tensor of an API holds; undefined for an empty one, and for numbers of 64 bits. */
export function numbersIn(
  { tensor, shape }: Pick<FlatTensor, "tensor" | "shape">,
): Omit<OutputTensor, "name"> & { readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  const type = TYPES[tensor.case ?? ""];
  if (!type || tensor.case === undefined) return undefined;
  const { data } = tensor.value;
  const values = data instanceof Uint8Array
    ? type === "int8" ? new Int8Array(data) : data
    : numbersOf(type, data as number[]);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return { type, shape: shape.map(Number), values, bytes: new Uint8Array(bytes) };
}

const TYPES: Readonly<Record<string, NumberType>> = {
  int8Tensor: "int8",
  uint8Tensor: "uint8",
  int16Tensor: "int16",
  uint16Tensor: "uint16",
  int32Tensor: "int32",
  uint32Tensor: "uint32",
  floatTensor: "float32",
};

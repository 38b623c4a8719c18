export const NUMBER_TYPES = [
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "float32",
] as const;
export type NumberType = typeof NUMBER_TYPES[number];

/** A tensor that a model gave. */
export interface OutputTensor {
  readonly name: string;
  readonly type: NumberType;
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** What a model takes or gives. */
export interface TensorDetails {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
}

/** Largest model, unpacked; with its tensors it fits into the memory of a process. */
export const MOST_MODEL_BYTES = 256 * 1024 * 1024;

/** Something of the request is wrong; the message is for its author. */
export class InferenceRefusedError extends Error {
  override readonly name = "InferenceRefusedError";
}

const ARRAYS = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float32: Float32Array,
} as const;

/** An array of numbers over bytes that hold them in the order of this processor. */
export function numbersOver(type: NumberType, bytes: Uint8Array<ArrayBuffer>) {
  const Numbers = ARRAYS[type];
  const aligned = bytes.byteOffset % Numbers.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset, byteLength } = aligned;
  return new Numbers(buffer, byteOffset, byteLength / Numbers.BYTES_PER_ELEMENT);
}

/** Numbers of that type. */
export function numbersOf(type: NumberType, values: ArrayLike<number>) {
  return ARRAYS[type].from(values);
}

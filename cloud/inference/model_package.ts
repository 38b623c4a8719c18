import { Buffer } from "node:buffer";
import { Parser, type ReadEntry } from "tar";
import { labelsOf } from "../../shared/inference/labels.ts";
import { InferenceRefusedError, MOST_MODEL_BYTES } from "../../shared/inference/tensors.ts";

/** A model and the names of its classes. */
export interface ModelPackage {
  readonly model: Uint8Array;
  readonly labels: readonly string[];
}

/** Unpacks a tar.gz in memory and picks the model and the labels. @throws {InferenceRefusedError} */
export async function readModelPackage(bytes: Uint8Array<ArrayBuffer>): Promise<ModelPackage> {
  const found = new Map<string, Uint8Array>();
  const tar = await unzipped(bytes);
  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({
      strict: true,
      onReadEntry: (entry: ReadEntry) => {
        const pieces: Uint8Array[] = [];
        entry.on("data", (piece: Uint8Array) => void pieces.push(new Uint8Array(piece)));
        entry.on("end", () => {
          if (entry.type === "File" || entry.type === "OldFile") {
            found.set(entry.path, joined(pieces));
          }
        });
      },
    });
    parser.on("end", () => resolve());
    parser.on("error", (error: Error) => reject(wrong(error)));
    parser.end(Buffer.from(tar.buffer, tar.byteOffset, tar.length));
  });
  const model = [...found].find(([path]) => path.endsWith(".tflite"))?.[1];
  if (!model) {
    throw new InferenceRefusedError(
      "the package has no file that ends in .tflite; this cloud runs models of TensorFlow Lite only",
    );
  }
  const labels = [...found].find(([path]) => /(^|\/)[^/]*labels?[^/]*\.txt$/i.test(path))?.[1];
  return { model, labels: labels ? labelsOf(labels) : [] };
}

async function unzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    for await (const piece of stream) {
      size += piece.length;
      if (size > MOST_MODEL_BYTES) break;
      pieces.push(piece);
    }
  } catch (error) {
    throw wrong(error);
  }
  if (size > MOST_MODEL_BYTES) {
    throw new InferenceRefusedError(`the package has more than ${MOST_MODEL_BYTES} bytes unpacked`);
  }
  return joined(pieces);
}

function wrong(error: unknown): InferenceRefusedError {
  return new InferenceRefusedError(`the package is no tar.gz: ${String(error)}`);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

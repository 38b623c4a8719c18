import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { DType, Tensor } from "@litertjs/core";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { InferenceRefusedError, NUMBER_TYPES, type OutputTensor } from "./inference_form.ts";
import { type Picture, resize } from "./picture.ts";

/**
 * Makes LiteRT, a program in WebAssembly, ready. Its loader is made for pages: it expects names in
 * the global scope, so that this belongs into a process that does nothing else.
 */
export async function loadLiteRt() {
  const { loader, wasm } = await files();
  const scope = globalThis as unknown as Record<string, unknown>;
  const here = fileURLToPath(new URL(".", import.meta.url));
  Object.assign(scope, {
    self: globalThis,
    require: createRequire(import.meta.url),
    __dirname: here,
    __filename: join(here, "loader.js"),
    Module: { wasmBinary: wasm, print: () => undefined, printErr: () => undefined },
    importScripts: () => (0, eval)(`${loader}\n;globalThis.ModuleFactory = ModuleFactory;`),
  });
  const litert = await import("@litertjs/core");
  await litert.loadLiteRt("loader.js");
  return litert;
}

async function files(): Promise<{ loader: string; wasm: Uint8Array }> {
  const isBundled = buildInfo.nativeSqlite !== undefined;
  const dir = isBundled
    ? buildInfo.assetsDir("litert", import.meta.url)
    : fileURLToPath(new URL("../wasm/", import.meta.resolve("@litertjs/core")));
  const [loader, wasm] = isBundled
    ? ["loader.txt.br", "litert.bin.br"]
    : ["litert_wasm_compat_internal.js", "litert_wasm_compat_internal.wasm"];
  const read = async (name: string) => {
    const content = await Deno.readFile(join(dir, name));
    return isBundled ? new Uint8Array(brotliDecompressSync(content)) : content;
  };
  return { loader: new TextDecoder().decode(await read(loader)), wasm: await read(wasm) };
}

/** Gives a picture to a model. @throws {InferenceRefusedError} */
export async function runModel(
  litert: Awaited<ReturnType<typeof loadLiteRt>>,
  model: Uint8Array,
  picture: Picture,
): Promise<OutputTensor[]> {
  const compiled = await litert.loadAndCompile(model, { accelerator: "wasm" }).catch((error) => {
    throw new InferenceRefusedError(`the model cannot be loaded: ${String(error)}`);
  });
  const [input, ...more] = compiled.getInputDetails();
  if (!input || more.length > 0) {
    throw new InferenceRefusedError("the model has not one input, a picture");
  }
  const shape = [...input.shape];
  const tensor = new litert.Tensor(inputValues(picture, shape, input.dtype), shape);
  const outputs = await compiled.run([tensor as Tensor]);
  return compiled.getOutputDetails().map((details, index) => {
    const type = NUMBER_TYPES.find((known) => known === details.dtype);
    const output = outputs[index];
    if (!type || !output) {
      throw new InferenceRefusedError(`the output ${details.name} holds ${details.dtype}`);
    }
    return {
      name: details.name,
      type,
      shape: [...output.type.layout.dimensions],
      values: Array.from(output.toTypedArray() as ArrayLike<number>, Number),
    };
  });
}

/** The picture in the form of a tensor: bytes from 0 to 255, or numbers from 0 to 1. */
function inputValues(
  picture: Picture,
  shape: readonly number[],
  dtype: DType,
): Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer> {
  const [count, a = 0, b = 0, c = 0] = shape;
  const channelsFirst = a === 3 && c !== 3;
  const [height, width, channels] = channelsFirst ? [b, c, a] : [a, b, c];
  if (shape.length !== 4 || count !== 1 || channels !== 3 || height < 1 || width < 1) {
    throw new InferenceRefusedError(
      `the model's input has the shape [${shape}]; a picture is [1, height, width, 3] or ` +
        "[1, 3, height, width]",
    );
  }
  const isOfBytes = dtype === "uint8";
  if (!isOfBytes && dtype !== "float32") {
    throw new InferenceRefusedError(
      `the model's input holds ${dtype}; a picture is uint8 or float32`,
    );
  }
  const { rgb } = resize(picture, width, height);
  const area = width * height;
  const values = new (isOfBytes ? Uint8Array : Float32Array)(rgb.length);
  for (let pixel = 0; pixel < area; pixel++) {
    for (let colour = 0; colour < 3; colour++) {
      const value = rgb[pixel * 3 + colour] ?? 0;
      const at = channelsFirst ? colour * area + pixel : pixel * 3 + colour;
      values[at] = isOfBytes ? value : value / 255;
    }
  }
  return values;
}

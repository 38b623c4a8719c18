import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { CompiledModel, Tensor } from "@litertjs/core";
import { buildInfo } from "../base/build_info/build_info.ts";
import {
  InferenceRefusedError,
  NUMBER_TYPES,
  type OutputTensor,
  type TensorDetails,
} from "./tensors.ts";

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

/**
 * The build with relaxed SIMD, which V8 has since 11.4: a model took 62 ms with it and 77 with the
 * one for engines without (`compat`).
 */
async function files(): Promise<{ loader: string; wasm: Uint8Array }> {
  const isBundled = buildInfo.nativeSqlite !== undefined;
  const dir = isBundled
    ? buildInfo.assetsDir("litert", import.meta.url)
    : fileURLToPath(new URL("../wasm/", import.meta.resolve("@litertjs/core")));
  const [loader, wasm] = isBundled
    ? ["loader.txt.br", "litert.bin.br"]
    : ["litert_wasm_internal.js", "litert_wasm_internal.wasm"];
  const read = async (name: string) => {
    const content = await Deno.readFile(join(dir, name));
    return isBundled ? new Uint8Array(brotliDecompressSync(content)) : content;
  };
  return { loader: new TextDecoder().decode(await read(loader)), wasm: await read(wasm) };
}

export type LiteRt = Awaited<ReturnType<typeof loadLiteRt>>;

/** A model that is ready to run. */
export class LoadedModel {
  readonly inputs: readonly TensorDetails[];
  readonly outputs: readonly TensorDetails[];

  private constructor(private readonly litert: LiteRt, private readonly compiled: CompiledModel) {
    const details = ({ name, dtype, shape }: (typeof inputs)[number]) => ({
      ...{ name, type: dtype, shape: [...shape] },
    });
    const inputs = compiled.getInputDetails();
    this.inputs = inputs.map(details);
    this.outputs = compiled.getOutputDetails().map(details);
  }

  /** @throws {InferenceRefusedError} when the bytes are no model, or one that cannot be run. */
  static async load(litert: LiteRt, model: Uint8Array): Promise<LoadedModel> {
    try {
      return new LoadedModel(litert, await litert.loadAndCompile(model, { accelerator: "wasm" }));
    } catch (error) {
      throw new InferenceRefusedError(`the model cannot be loaded: ${String(error)}`);
    }
  }

  /**
   * @param inputs one for each of the model's inputs, in their order.
   * @throws {InferenceRefusedError} when the model gives what nothing here can hold.
   */
  async run(
    inputs:
      readonly (Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>)[],
  ): Promise<OutputTensor[]> {
    const tensors = inputs.map((values, index) =>
      new this.litert.Tensor(values, [...this.inputs[index]?.shape ?? []])
    );
    let outputs: Tensor[] = [];
    try {
      outputs = await this.compiled.run(tensors as Tensor[]);
      return this.outputs.map((details, index) => this.#output(details, outputs[index]));
    } finally {
      // What the model was given and gave is memory of WebAssembly, which nothing else frees.
      for (const tensor of [...tensors, ...outputs]) tensor.delete();
    }
  }

  #output({ name, type: dtype }: TensorDetails, output: Tensor | undefined): OutputTensor {
    const type = NUMBER_TYPES.find((known) => known === dtype);
    if (!type || !output) throw new InferenceRefusedError(`the output ${name} holds ${dtype}`);
    const values = output.toTypedArray().slice() as ArrayLike<number>;
    return { name, type, shape: [...output.type.layout.dimensions], values };
  }
}

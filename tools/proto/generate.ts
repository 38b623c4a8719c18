import { dirname, join, relative } from "node:path";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { microMessages } from "./micro_messages.ts";

/** Where the generated messages stand, relative to the root of the checkout. */
export const GENERATED = "shared/gen";

/**
 * Generates TypeScript from `proto/` as `proto/buf.gen.yaml` says, without the network.
 *
 * @param base folder in which `shared/gen` is made, or the root of the checkout.
 * @throws Error with what buf said, which names file, line and column.
 */
export async function generate(root: string, base: string): Promise<void> {
  // The file names its output relative to proto/, so that buf can be run there by hand too.
  const output = join(base, "proto");
  await Deno.mkdir(output, { recursive: true });
  await runBuf(root, ["generate", "--output", output]);
  await decodeLater(join(base, GENERATED));
  const image = fromBinary(
    FileDescriptorSetSchema,
    await runBuf(root, ["build", "-o", "-#format=binpb"]),
  );
  await Deno.mkdir(join(base, GENERATED, "micro"), { recursive: true });
  await Deno.writeTextFile(
    join(base, GENERATED, "micro", "messages.ts"),
    microMessages(createFileRegistry(image)),
  );
}

/** Has the generated files make descriptors with code of ours, which decodes them when needed. */
async function decodeLater(dir: string): Promise<void> {
  for (const [name, text] of await readTree(dir)) {
    const depth = "../".repeat(name.split(/[\\/]/).length);
    const from = `${depth}base/descriptors/descriptors.ts`;
    const changed = text
      .replace(/^(import \{.*\} from )"@bufbuild\/protobuf\/codegenv2"/m, `$1"${from}"`)
      .replace(
        /(from service (\S+)\n(?:(?!from service)[^])*?serviceDesc\(\w+, \d+)\)/g,
        '$1, "$2")',
      );
    await Deno.writeTextFile(join(dir, name), changed);
  }
}

async function runBuf(root: string, args: string[]): Promise<Uint8Array<ArrayBuffer>> {
  const { success, stdout, stderr } = await new Deno.Command(await findBuf(root), {
    cwd: join(root, "proto"),
    args,
    env: { PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH") ?? ""}` },
    stdin: "null",
  }).output();
  if (success) return stdout;
  throw new Error(`buf ${args[0]} failed:\n${new TextDecoder().decode(stderr).trim()}`);
}

/** Files under `shared/gen` that are not what `proto/` gives; empty when all is fresh. */
export async function staleFiles(root: string): Promise<string[]> {
  const base = await Deno.makeTempDir();
  try {
    await generate(root, base);
    const fresh = await readTree(join(base, GENERATED));
    const committed = await readTree(join(root, GENERATED));
    const names = new Set([...fresh.keys(), ...committed.keys()]);
    return [...names].filter((name) => fresh.get(name) !== committed.get(name)).sort();
  } finally {
    await Deno.remove(base, { recursive: true });
  }
}

/** buf's program inside the npm package for this platform. */
async function findBuf(root: string): Promise<string> {
  const packages = join(root, "node_modules", ".deno", "node_modules", "@bufbuild");
  const file = Deno.build.os === "windows" ? "buf.exe" : "buf";
  for await (const { name } of Deno.readDir(packages)) {
    if (name.startsWith("buf-")) return join(packages, name, "bin", file);
  }
  throw new Error("there is no buf for this platform in node_modules; run make setup");
}

async function readTree(dir: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory) await walk(path);
      else files.set(relative(dir, path), await Deno.readTextFile(path));
    }
  };
  await walk(dir);
  return files;
}

/** For tests: programs of which many processes run, bundled once, as each start loads all modules. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BUNDLER = join(ROOT, "tools", "test", "bundle_child.ts");

const bundles = new Map<string, Promise<string>>();
Deno.test.afterAll(async () => {
  const folders = await Promise.allSettled(bundles.values());
  bundles.clear();
  for (const folder of folders) {
    if (folder.status === "fulfilled") await Deno.remove(folder.value, { recursive: true });
  }
});

/** Arguments of Deno that run a module's text, whose imports are relative to `folder`. */
export async function bundledChild(source: string, folder: string): Promise<string[]> {
  const key = JSON.stringify([source, folder]);
  const bundle = bundles.get(key) ?? makeBundle(source, folder);
  bundles.set(key, bundle);
  const config = ["--config", join(ROOT, "deno.json")];
  return ["run", "-A", "--no-check", "--quiet", ...config, join(await bundle, "main.mjs")];
}

async function makeBundle(source: string, folder: string): Promise<string> {
  const out = await Deno.makeTempDir({ prefix: "machine-child-" });
  const bundler = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", BUNDLER, folder, out],
    cwd: ROOT,
    stdin: "piped",
    stderr: "piped",
  }).spawn();
  const writer = bundler.stdin.getWriter();
  await writer.write(new TextEncoder().encode(source));
  await writer.close();
  const { success, stderr } = await bundler.output();
  if (!success) throw new Error(`cannot bundle: ${new TextDecoder().decode(stderr)}`);
  return out;
}

/** Writes the generated parts of docs/; with `--check` it only says whether they are up to date. */
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../programs.ts";
import { documents } from "./documents.ts";

const isCheck = Deno.args.includes("--check");
const stale: string[] = [];
for (const { path, text } of await documents()) {
  const file = join(ROOT, path);
  if (await Deno.readTextFile(file) === text) continue;
  stale.push(path);
  if (!isCheck) await Deno.writeTextFile(file, text);
}
if (isCheck && stale.length > 0) {
  process.stderr.write(`${stale.join(", ")}: run "make docs"\n`);
  process.exitCode = 1;
}

/** What a start costs. A file of its own: what is decoded stays decoded for the tests after it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { closeSqlite } from "../../../shared/base/store/sqlite.ts";
import { emptyMachineConfig } from "../../../shared/config/machine_config.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { RevisionStore } from "../../config/source/revision_store.ts";
import { openServerState } from "../../config/state/open_state.ts";
import { Machine } from "./testing.ts";

const GENERATED = new URL("../../../shared/gen/", import.meta.url);
const PART = "3f2c1a5e-0000-4000-8000-000000000001";

/** The descriptors of all generated files, by path. */
async function generatedFiles(folder = GENERATED): Promise<[path: string, file: object][]> {
  const found: [string, object][] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await generatedFiles(new URL(`${name}/`, folder)));
    if (!name.endsWith("_pb.ts")) continue;
    const { href } = new URL(name, folder);
    const exports: Record<string, object> = await import(href);
    const [key] = Object.keys(exports).filter((key) => key.startsWith("file_"));
    found.push([href.slice(GENERATED.href.length), exports[key!]!]);
  }
  return found;
}

Deno.test("a start decodes no message and no service until it serves", async () => {
  await using machine = await Machine.create();
  const db = await openServerState(join(machine.folder, "home"), memoryLogger());
  const components = [{ name: "f", api: "rdk:component:sensor", model: "rdk:builtin:fake" }];
  const kept = { ...emptyMachineConfig(), components, revision: "r1" };
  new RevisionStore(db, PART).add(kept as never, new Date());
  closeSqlite(db);
  // Nobody answers there; it serves what it has kept.
  const cloud = { id: PART, secret: "s", app_address: "http://127.0.0.1:9" };
  await machine.writeConfig({ cloud, network: { bind_address: "127.0.0.1:0" } });
  const files = await generatedFiles();
  const decoded = () => files.filter(([, file]) => Object.hasOwn(file, "messages"));
  let atReady: string[] | undefined;
  const { entries } = machine.log;
  entries.push = (...lines) => {
    if (lines.some(({ message }) => message === "serving")) {
      atReady = decoded().map(([path]) => path);
    }
    return Array.prototype.push.apply(entries, lines);
  };
  await machine.start();
  assert.deepEqual(atReady, []);
  assert.ok(files.length > 60 && decoded().length > 0, "nothing is decoded at all");
});

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ParentServer } from "./parent_server.ts";

const isWindows = Deno.build.os === "windows";

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

Deno.test({
  name: "ParentServer removes the sockets that a killed server left, and no other folder",
  ignore: isWindows,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "parent-server-" });
    const folderFile = join(folder, "module-sockets");
    const log = memoryLogger();
    const make = () =>
      new ParentServer({ mount: () => {}, log, temporaryFolder: folder, folderFile });
    try {
      const killed = make();
      const left = dirname(await killed.address("m", "unix"));
      assert.equal(await Deno.readTextFile(folderFile), left);

      const next = make();
      const now = dirname(await next.address("m", "unix"));
      assert.deepEqual([await exists(left), await exists(now)], [false, true]);
      await next.close();
      assert.equal(await exists(now), false);
      await killed.close();

      const other = join(folder, "other");
      await Deno.mkdir(other);
      await Deno.writeTextFile(folderFile, other);
      const last = make();
      await last.address("m", "unix");
      assert(await exists(other));
      await last.close();

      const unwritable = new ParentServer({
        ...{ mount: () => {}, log, temporaryFolder: folder },
        folderFile: join(folder, "no", "such", "folder"),
      });
      assert.match(await unwritable.address("m", "unix"), /parent-m/);
      await unwritable.close();
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

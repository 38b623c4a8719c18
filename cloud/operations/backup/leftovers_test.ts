import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { backUp } from "./backup.ts";

/** A data folder, with folders next to it for its backups. */
async function withFolders(
  work: (place: { root: string; data: string }) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "machine-leftovers-" });
  try {
    const data = join(root, "data");
    await (await openDataFolder(data, systemRandom)).database.close();
    await work({ root, data });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** A backup that is killed leaves its file. */
async function killed(data: string, file: string): Promise<void> {
  const source = `import { backUp } from "./backup.ts";
    import { systemClock as clock } from "../../../shared/base/time/clock.ts";
    const [data, file] = Deno.args;
    await backUp(data, file, { clock });`;
  const { signal, stderr } = await runFaultChild(source, {
    ...{ folder: import.meta.dirname!, faultPoint: "backup.archive.entry", args: [data, file] },
  });
  assert.equal(signal, "SIGKILL", stderr);
}

Deno.test("a backup is made where the rest of an earlier one cannot be removed, and tries it again", () =>
  withFolders(async ({ root, data }) => {
    const [disk, away, blocked] = ["disk", "away", "blocked"].map((name) => join(root, name));
    await Deno.mkdir(disk!);
    await killed(data, join(disk!, "b.tar"));
    const left = join(disk!, ".b.tar.unfinished");
    assert.ok(existsSync(left));
    await Deno.rename(disk!, away!);
    await Deno.writeTextFile(disk!, "what is below cannot be removed");
    for (const name of ["c.tar", "d.tar"]) {
      const lines: string[] = [];
      const warn = (line: string) => void lines.push(line);
      await backUp(data, join(root, name), { clock: systemClock, warn });
      assert.match(lines.join("\n"), /^cannot remove what .* left: .*b\.tar\.unfinished.* again$/);
    }
    await Deno.rename(disk!, blocked!);
    await Deno.rename(away!, disk!);
    const warn = (line: string) => assert.fail(line);
    await backUp(data, join(root, "c.tar"), { clock: systemClock, warn });
    assert.equal(existsSync(left), false);
    assert.equal(existsSync(join(data, ".backup-unfinished")), false);
  }));

Deno.test("a backup of a copied data folder removes nothing of what the original is writing", () =>
  withFolders(async ({ root, data }) => {
    await killed(data, join(root, "b.tar"));
    const copy = join(root, "copy");
    const { success } = await new Deno.Command("cp", { args: ["-a", data, copy] }).output();
    assert.ok(success);
    await backUp(copy, join(root, "c.tar"), { clock: systemClock });
    assert.ok(existsSync(join(root, ".b.tar.unfinished")));
    await backUp(data, join(root, "d.tar"), { clock: systemClock });
    assert.equal(existsSync(join(root, ".b.tar.unfinished")), false);
  }));

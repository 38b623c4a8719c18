/** A disk on which not a byte is free: what was there before is enough for a machine to run. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { noSmallDisks, withSmallDisk } from "../../shared/test_tools/small_disk.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";

const KIBIBYTES = 8_000;

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  rigTest(name, async (rig) => {
    await Deno.mkdir(rig.serverHome);
    await withSmallDisk(rig.serverHome, KIBIBYTES, async () => {
      try {
        await body(rig);
      } finally {
        for (const program of rig.programs) await program.stop(5_000);
      }
    });
  }, { ignore: noSmallDisks(import.meta.url) });
}

/** Takes the last byte. */
async function fill(folder: string): Promise<void> {
  using file = await Deno.open(join(folder, "ballast"), { create: true, append: true });
  for (let size = 256 * 1024; size > 0;) {
    try {
      await file.write(new Uint8Array(size));
    } catch {
      size = Math.floor(size / 2);
    }
  }
}

test("a server starts on a full disk with the configuration that it had", async (rig) => {
  const cloud = await rig.startCloud();
  const first = await rig.startServer();
  const before = await eventually("it answers", () => rig.readings("fake"));
  await first.stop(20_000);
  await cloud.stop(5_000);
  await fill(rig.serverHome);

  const second = await rig.startServer();
  rig.forgetServerSession();
  assert.deepEqual(await eventually("it answers again", () => rig.readings("fake")), before);
  assert.match(second.tail(400), /the server's state cannot be written; free some space/);
  const exit = await second.stop(90_000);
  assert.equal(exit.code, 0, exit.reason);
});

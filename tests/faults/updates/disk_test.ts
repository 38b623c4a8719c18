/** A disk that takes nothing any more: whatever ran continues, and a bad version still goes. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { logOf, Rig, settled } from "./rig.ts";
import { type Machine, shortStatus } from "./machine.ts";

const KIBIBYTES = 2_000;

interface Disk {
  fill(): Promise<void>;
  free(): Promise<void>;
  remount(how: "ro" | "rw"): Promise<void>;
}

function test(name: string, body: (rig: Rig, disk: Disk) => Promise<void>): void {
  Deno.test({
    name,
    ignore: noSmallDisks(import.meta.url),
    fn: async () => {
      const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "updates-disk-" }));
      try {
        await withSmallDisk(folder, KIBIBYTES, async () => {
          const ballast = join(folder, "ballast");
          // The machine alone is on the small disk.
          await using rig = await Rig.create(join(folder, "machine"));
          await body(rig, {
            fill: () => fill(ballast),
            free: () => Deno.remove(ballast),
            remount: (how) => mount("-o", `remount,${how}`, folder),
          });
        });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** Takes the last byte. */
async function fill(path: string): Promise<void> {
  using file = await Deno.open(path, { create: true, append: true });
  for (let size = 256 * 1024; size > 0;) {
    try {
      await file.write(new Uint8Array(size));
    } catch {
      size = Math.floor(size / 2);
    }
  }
}

const serves = async (machine: Machine, version: string) => {
  try {
    const isServed = () => machine.serving === version;
    await waitFor(isServed, { deadlineMs: 60_000, what: `${version} serves` });
  } catch (error) {
    throw new Error(`${JSON.stringify(shortStatus(machine))}\n${logOf(machine)}`, { cause: error });
  }
};

test("a full disk keeps an update from the machine until there is room", async (rig, disk) => {
  await rig.install(await rig.version("A", "serves"));
  const b = await rig.version("B", "serves");
  const machine = await rig.start();
  try {
    await serves(machine, "A");
    await disk.fill();
    machine.server.setTarget(b);
    await waitFor(() => machine.server.snapshot().error !== "", { deadlineMs: 60_000 });
    assert.equal(machine.serving, "A");
    await disk.free();
    machine.server.force();
    await settled(machine, "B", "idle");
  } finally {
    await machine.stop();
  }
});

test("a disk that is full at the swap leaves the old version in place", async (rig, disk) => {
  await rig.install(await rig.version("A", "serves"));
  const b = await rig.version("B", "serves");
  let isOpen = false;
  const machine = await rig.start({ server: b, mayRestart: () => isOpen });
  try {
    await waitFor(() => machine.server.snapshot().state === "waiting", { deadlineMs: 60_000 });
    const before = await rig.assertLinked();
    await disk.fill();
    isOpen = true;
    const isTold = () =>
      /full|room|space/.test(machine.server.snapshot().waitingFor) ||
      machine.server.snapshot().error !== "";
    await waitFor(isTold, { deadlineMs: 60_000, what: "it is told" });
    await serves(machine, "A");
    assert.equal(await rig.assertLinked(), before);
    await disk.free();
    await settled(machine, "B", "idle");
  } finally {
    await machine.stop();
  }
});

test("a bad version goes although the disk is full", async (rig, disk) => {
  await rig.install(await rig.version("A", "serves"));
  const b = await rig.version("B", "hangs after it served");
  const machine = await rig.start({ server: b, limits: { unhealthyMs: 1_000 } });
  try {
    await waitFor(() => machine.server.snapshot().state === "trial", { deadlineMs: 60_000 });
    await disk.fill();
    await serves(machine, "A");
    await disk.free();
    await settled(machine, "A", "refused");
    await machine.stop();
    const again = await rig.start();
    try {
      await settled(again, "A", "refused");
      assert.deepEqual(again.server.snapshot().bad.map(({ version }) => version), ["B"]);
    } finally {
      await again.stop();
    }
  } finally {
    await machine.stop();
  }
});

test("a machine starts what it had when its disk is full", async (rig, disk) => {
  await rig.install(await rig.version("A", "serves"));
  await disk.fill();
  const machine = await rig.start();
  try {
    await serves(machine, "A");
  } finally {
    await machine.stop();
  }
});

test("a link that cannot be turned leaves the old version in place", async (rig) => {
  await rig.install(await rig.version("A", "serves"));
  const b = await rig.version("B", "serves");
  const bin = join(rig.dir, "bin");
  const before = await rig.assertLinked();
  await mount("--bind", bin, bin);
  try {
    await mount("-o", "remount,ro,bind", bin);
    const machine = await rig.start({ server: b });
    try {
      const isTold = () => /read-only/.test(machine.server.snapshot().waitingFor);
      await waitFor(isTold, { deadlineMs: 60_000, what: "it is told" });
      await serves(machine, "A");
      assert.equal(await rig.assertLinked(), before);
      await mount("-o", "remount,rw,bind", bin);
      machine.server.force();
      await settled(machine, "B", "idle");
    } finally {
      await machine.stop();
    }
  } finally {
    new Deno.Command("umount", { args: ["--lazy", bin] }).outputSync();
  }
});

test(
  "a read-only disk changes nothing; the machine runs when it is fixed",
  async (rig, disk) => {
    await rig.install(await rig.version("A", "serves"));
    const before = await rig.assertLinked();
    await disk.remount("ro");
    await assert.rejects(rig.start(), StoreError);
    assert.equal(await rig.assertLinked(), before);
    await disk.remount("rw");
    const machine = await rig.start();
    try {
      await settled(machine, "A", "idle");
    } finally {
      await machine.stop();
    }
  },
);

/** Again while the disk is busy: a program that is being started holds all open files for a moment. */
async function mount(...args: string[]): Promise<void> {
  await waitFor(() => {
    const { success, stderr } = new Deno.Command("mount", { args }).outputSync();
    const said = new TextDecoder().decode(stderr);
    assert(success || /busy/.test(said), said);
    return success;
  }, { deadlineMs: 60_000, what: `mount ${args.join(" ")}` });
}

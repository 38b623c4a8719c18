import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { DROP_IN, dropInText, type JournaldLimits } from "./drop_in.ts";
import { applyJournaldLimits, JOURNALD_PENDING, removeJournaldLimits } from "./journald_limits.ts";

const SETTINGS: readonly [JournaldLimits, string | undefined][] = [
  [{ system: 512, runtime: 512 }, "SystemMaxUse=512M RuntimeMaxUse=512M"],
  [{ system: 0, runtime: 20 }, "SystemMaxUse=512M RuntimeMaxUse=20M"],
  [{ system: -1, runtime: 20 }, "RuntimeMaxUse=20M"],
  [{ system: 10, runtime: -1 }, "SystemMaxUse=10M"],
  [{ system: -1, runtime: -1 }, undefined],
];

for (const [limits, expected] of SETTINGS) {
  Deno.test(`dropInText() of ${limits.system} and ${limits.runtime} MB`, () => {
    const text = dropInText(limits)?.split("[Journal]\n")[1]?.trim().replaceAll("\n", " ");
    assert.equal(text, expected);
  });
}

interface Rig {
  readonly root: string;
  readonly place: { root: string; dir: string; run: RunProgram };
  /** What was run. */
  readonly ran: string[];
  /** What the next programs end with. */
  code: number;
  read(): Promise<string | undefined>;
}

async function withRig(test: (rig: Rig) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(join(root, "opt/etc"), { recursive: true });
  const run: RunProgram = (program, args) => {
    rig.ran.push([program, ...args].join(" "));
    return Promise.resolve({ code: rig.code, stdout: "", stderr: "Access denied\n" });
  };
  const rig: Rig = {
    root,
    place: { root, dir: join(root, "opt"), run },
    ran: [],
    code: 0,
    read: () => Deno.readTextFile(join(root, DROP_IN)).catch(() => undefined),
  };
  try {
    await test(rig);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const LIMITS = { system: 100, runtime: 50 };
const RESTART = "systemctl restart systemd-journald.service";

Deno.test("journald is started anew when its limits changed, and only then", () =>
  withRig(async ({ place, ran, read }) => {
    const outcome = await applyJournaldLimits(place, LIMITS);
    assert.deepEqual(outcome, {
      state: "applied",
      text: "logs on disk at most 100 MB, in memory at most 50 MB",
    });
    assert.equal(await read(), dropInText(LIMITS));
    await applyJournaldLimits(place, LIMITS);
    assert.deepEqual(ran, [RESTART]);
    await applyJournaldLimits(place, { system: -1, runtime: -1 });
    assert.equal(await read(), undefined);
    assert.deepEqual(ran, [RESTART, RESTART]);
  }));

Deno.test("a start that failed, or was cut off, is made up for", () =>
  withRig(async (rig) => {
    const { place, ran } = rig;
    rig.code = 1;
    const outcome = await applyJournaldLimits(place, LIMITS);
    assert.equal(outcome.state, "failed");
    assert.match(outcome.text, /cannot be restarted: Access denied/);
    rig.code = 0;
    assert.equal((await applyJournaldLimits(place, LIMITS)).state, "applied");
    assert.equal(ran.length, 2);
    // The power went after the file was written.
    await Deno.writeTextFile(join(place.dir, JOURNALD_PENDING), "");
    await applyJournaldLimits(place, LIMITS);
    assert.equal(ran.length, 3);
  }));

Deno.test("a drop-in of somebody else stays", () =>
  withRig(async ({ root, place, ran, read }) => {
    await Deno.mkdir(dirname(join(root, DROP_IN)), { recursive: true });
    await Deno.writeTextFile(join(root, DROP_IN), "[Journal]\nSystemMaxUse=1G\n");
    assert.match((await applyJournaldLimits(place, LIMITS)).text, /is not of machine-agent/);
    assert.equal(await removeJournaldLimits({ ...place, isLive: true }), false);
    assert.match(await read() ?? "", /1G/);
    assert.deepEqual(ran, []);
  }));

Deno.test("what was made is removed, with the folder that it alone was in", () =>
  withRig(async ({ root, place, ran }) => {
    await applyJournaldLimits(place, LIMITS);
    assert.equal(await removeJournaldLimits({ ...place, isLive: true }), true);
    assert.equal(await Deno.stat(dirname(join(root, DROP_IN))).catch(() => undefined), undefined);
    assert.deepEqual(ran, [RESTART, RESTART]);
    assert.equal(await removeJournaldLimits({ ...place, isLive: true }), false);
  }));

Deno.test({
  name: "on a full disk the drop-in is as it was, and the reason is told",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withRig(async ({ root, place, read }) => {
      await applyJournaldLimits(place, LIMITS);
      const folder = dirname(join(root, DROP_IN));
      const before = await read();
      await withSmallDisk(folder, 64, async () => {
        await Deno.writeTextFile(join(root, DROP_IN), before ?? "");
        await Deno.writeFile(join(folder, "filler"), new Uint8Array(65_536)).catch(() => {});
        await assert.rejects(
          applyJournaldLimits(place, { system: 1, runtime: 1 }),
          /the disk is full/,
        );
        assert.equal(await read(), before);
      });
    }),
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { bound, program, reader, small, withPackageHome } from "./rig_testing.ts";

const soon = { deadlineMs: 60_000 };

Deno.test("cleanUp() removes what nobody wants, never what is in use", () =>
  withPackageHome(async ({ home, start }) => {
    const { manager, publish } = bound(start());
    for (const version of ["1.0.0", "2.0.0", "3.0.0"]) {
      publish("acme/reader", version, small(version));
      await manager.apply([{ ...reader, version }]);
    }
    const root = join(home, "packages/data/module");
    await Deno.mkdir(join(root, "unknown-folder"));
    const there = () => [...Deno.readDirSync(root)].map(({ name }) => name).sort();
    await manager.cleanUp([join(root, "acme-reader-1_0_0")]);
    assert.deepEqual(there(), ["acme-reader-1_0_0", "acme-reader-3_0_0"]);
    await manager.cleanUp([]);
    assert.deepEqual(there(), ["acme-reader-3_0_0"]);
    await manager.apply([]);
    await manager.cleanUp([]);
    assert.deepEqual(there(), []);
  }));

Deno.test("cleanUp() does nothing before it is known what is wanted", () =>
  withPackageHome(async ({ home, start }) => {
    const first = start();
    first.publish("acme/reader", "1.2.3", program);
    await first.manager.apply([reader]);
    await first.close();
    const second = start();
    await second.manager.cleanUp([]);
    assert.ok(Deno.statSync(join(home, "packages/data/module/acme-reader-1_2_3")).isDirectory);
  }));

Deno.test("apply() removes leftovers, parts of 72 h ago, and what somebody took away", () =>
  withPackageHome(async ({ home, clock, start }) => {
    const first = start();
    first.publish("acme/reader", "1.2.3", program);
    first.publish("acme/big", "1.0.0", program, { cutAfter: [65_536] });
    const big = { ...reader, name: "big", package: "acme/big", version: "1.0.0" };
    await first.manager.apply([reader, big]);
    await first.close();
    const root = join(home, "packages/data/module");
    await Deno.mkdir(join(root, ".unpack-1/deep"), { recursive: true });
    await Deno.mkdir(join(root, ".trash-1"));
    await Deno.writeTextFile(join(home, "packages/part/unknown.part"), "x");
    await Deno.remove(join(root, "acme-reader-1_2_3"), { recursive: true });
    const parts = () => [...Deno.readDirSync(join(home, "packages/part"))].map(({ name }) => name);
    for (const name of parts()) {
      await Deno.utime(join(home, "packages/part", name), clock.now(), clock.now());
    }
    const second = start();
    second.publish("acme/reader", "1.2.3", program);
    await second.manager.apply([reader]);
    assert.equal(second.stateOf("reader"), "ready");
    assert.deepEqual(parts().length, 1);
    assert.deepEqual([...Deno.readDirSync(root)].map(({ name }) => name), ["acme-reader-1_2_3"]);
    await clock.advance(72 * 3_600_000);
    assert.deepEqual(parts().length, 1);
    await clock.advance(3_600_000);
    await waitFor(() => parts().length === 0, soon);
  }));

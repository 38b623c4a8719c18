import assert from "node:assert/strict";
import { basename, join } from "node:path";
import {
  type FileServer,
  randomBytes,
  sha256Of,
  withFolder,
} from "../../../shared/transfer/download/testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { PackageRig } from "./rig_testing.ts";
import { tarGzOf } from "../../../shared/transfer/archive/testing.ts";

const soon = { deadlineMs: 60_000 };
const archive = (text: string) =>
  tarGzOf([{ path: "run", content: text, mode: 0o755 }, {
    path: "ballast",
    content: randomBytes(50_000),
  }]);

interface LocalPackage {
  home: string;
  tarball: string;
  clock: FakeClock;
  rig: PackageRig;
  apply(): Promise<void>;
  /** Folder of the module; fails when it has none. */
  folder(): string;
  restart(): Promise<void>;
}

/** A machine without a cloud and a module in an archive next to it. */
function withLocalPackage(test: (local: LocalPackage) => Promise<void>): Promise<void> {
  return withFolder(async (home) => {
    const clock = new FakeClock();
    const tarball = join(home, "module.tar.gz");
    const nowhere = { origin: "http://127.0.0.1:9" } as FileServer;
    const start = () => new PackageRig(home, nowhere, clock, { cloud: undefined });
    const local: LocalPackage = {
      home,
      tarball,
      clock,
      rig: start(),
      apply: () => local.rig.manager.apply([{ name: "mine", tarball, type: "module" }]),
      folder() {
        const found = local.rig.manager.folder("module", "mine");
        assert.ok(found && "path" in found, JSON.stringify(found));
        return found.path;
      },
      async restart() {
        await local.rig.close();
        local.rig = start();
      },
    };
    try {
      await test(local);
    } finally {
      await local.rig.close();
    }
  });
}

const there = (home: string) =>
  [...Deno.readDirSync(join(home, "packages-local/data/module"))].map(({ name }) => name).sort();

Deno.test("apply() unpacks a local archive under a version made from its content", () =>
  withLocalPackage(async ({ tarball, rig, apply, folder }) => {
    const bytes = archive("one");
    await Deno.writeFile(tarball, bytes);
    await apply();
    const version = `0.0.0-${sha256Of(bytes).slice(0, 12)}`;
    assert.equal(rig.manager.snapshot()[0]?.version, version);
    assert.equal(basename(folder()), `synthetic-mine-${version.replaceAll(".", "_")}`);
    assert.equal(await Deno.readTextFile(join(folder(), "run")), "one");
  }));

Deno.test("apply() unpacks a local archive anew when its content changed, and only then", () =>
  withLocalPackage(async (local) => {
    const { home, tarball, apply } = local;
    const bytes = archive("one");
    await Deno.writeFile(tarball, bytes);
    await apply();
    const first = local.folder();
    const marker = join(first, "made-at-first-run");
    await Deno.writeTextFile(marker, "x");
    const changes = local.rig.changes;
    await apply();
    assert.equal(local.rig.changes, changes + 1);
    await local.restart();
    await apply();
    assert.equal(local.folder(), first);
    assert.equal(local.rig.changes, 2);
    // Built again with the same result.
    await Deno.writeFile(`${tarball}.new`, bytes);
    await Deno.rename(`${tarball}.new`, tarball);
    await apply();
    assert.equal(local.folder(), first);
    assert.equal(await Deno.readTextFile(marker), "x");
    await Deno.writeFile(tarball, archive("two!"));
    await apply();
    const second = local.folder();
    assert.notEqual(second, first);
    assert.equal(await Deno.readTextFile(join(second, "run")), "two!");
    await local.rig.manager.cleanUp([first]);
    assert.equal(there(home).length, 2);
    await local.rig.manager.cleanUp([]);
    assert.deepEqual(there(home), [basename(second)]);
  }));

Deno.test("apply() refuses a local archive once for each state of it, and takes the fixed one", () =>
  withLocalPackage(async ({ home, tarball, rig, clock, apply, folder }) => {
    const good = archive("one");
    await Deno.writeFile(tarball, good.subarray(0, 20_000));
    await apply();
    assert.match(rig.stateOf("mine"), /^failed: the archive is refused: it is no whole gzip file/);
    assert.deepEqual(there(home), []);
    await Deno.writeFile(tarball, good);
    await clock.advance(30_000);
    await waitFor(() => rig.stateOf("mine") === "ready", soon);
    const first = folder();
    await Deno.writeFile(tarball, tarGzOf([{ path: "../evil", content: "x" }]));
    await apply();
    assert.match(rig.stateOf("mine"), /could leave its folder/);
    assert.deepEqual(rig.manager.folder("module", "mine"), {
      problem: 'the archive is refused: the path "../evil" has .. in it and could leave its folder',
      previous: first,
    });
    await rig.manager.cleanUp([]);
    assert.deepEqual(there(home), [basename(first)]);
  }));

Deno.test("apply() waits for a local archive that is not built yet", () =>
  withLocalPackage(async ({ tarball, rig, clock, apply }) => {
    await apply();
    assert.match(rig.stateOf("mine"), /^failed: cannot read the archive .* does not exist/);
    await Deno.writeFile(tarball, archive("one"));
    await clock.advance(2_000);
    await waitFor(() => rig.stateOf("mine") === "ready", soon);
  }));

Deno.test("apply() refuses a local archive with a path that says nothing by itself", () =>
  withLocalPackage(async ({ rig }) => {
    await rig.manager.apply([{ name: "mine", tarball: "module.tgz", type: "module" }]);
    assert.match(rig.stateOf("mine"), /module\.tgz needs an absolute path/);
    await rig.manager.apply([{ name: "../mine", tarball: "/m.tgz", type: "module" }]);
    assert.match(rig.stateOf("../mine"), /a name is needed/);
  }));

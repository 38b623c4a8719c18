import { Code } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { FileServer, withFolder } from "../../../shared/transfer/download/testing.ts";
import { PackageType } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { bound, PackageRig, program, reader, small, withPackageHome } from "./rig_testing.ts";
import type { WantedCloudPackage } from "./package_types.ts";
import { tarGzOf, treeOf } from "../../../shared/transfer/archive/testing.ts";

const model: WantedCloudPackage = {
  name: "net",
  package: "acme/net",
  version: "1.0.0",
  type: "ml_model",
};
const soon = { deadlineMs: 60_000 };

Deno.test("apply() brings a package here and tells where it lies", () =>
  withPackageHome(async ({ home, server, start }) => {
    const { manager, cloud, publish, log, ...rig } = bound(start());
    publish("acme/reader", "1.2.3", program);
    assert.equal(manager.folder("module", "reader"), undefined);
    const applying = manager.apply([reader]);
    await applying;
    const path = join(home, "packages/data/module/acme-reader-1_2_3");
    assert.deepEqual(manager.folder("module", "reader"), { path });
    assert.deepEqual(await treeOf(join(home, "packages")), [
      "data/",
      "data/module/",
      "data/module/acme-reader-1_2_3/",
      "data/module/acme-reader-1_2_3/data.bin",
      "data/module/acme-reader-1_2_3/run",
      "part/",
    ]);
    const [seen] = manager.snapshot();
    assert.deepEqual({ ...seen, lastUpdated: undefined }, {
      name: "reader",
      type: "module",
      version: "1.2.3",
      state: "ready",
      error: "",
      lastUpdated: undefined,
      bytesDownloaded: program.length,
      totalBytes: program.length,
    });
    const [asked] = cloud.asked;
    const { id, version, type, includeUrl, platform } = asked ?? {};
    assert.deepEqual(
      { id, version, type, includeUrl, platform },
      {
        id: "acme/reader",
        version: "1.2.3",
        type: PackageType.MODULE,
        includeUrl: true,
        platform: "linux/amd64",
      },
    );
    assert.deepEqual(server.seen("GET"), ["/acme/reader/1.2.3.tar.gz"]);
    assert.ok(rig.changes() >= 3);
    assert.deepEqual(log.messages("warn"), []);
  }));

Deno.test("apply() knows after a restart what is here, also without the cloud", () =>
  withPackageHome(async ({ server, start }) => {
    const first = start();
    first.publish("acme/reader", "1.2.3", program);
    await first.manager.apply([reader]);
    const folder = first.manager.folder("module", "reader");
    await first.close();
    await server.close();
    const second = start();
    second.cloud.failure = Code.Unavailable;
    await second.manager.apply([reader]);
    assert.deepEqual(second.manager.folder("module", "reader"), folder);
    assert.equal(second.cloud.asked.length, 0);
    await second.close();
    const alone = start({ cloud: undefined });
    await alone.manager.apply([reader, { ...reader, name: "other", version: "9.9.9" }]);
    assert.equal(alone.stateOf("reader"), "ready");
    assert.match(alone.stateOf("other"), /failed: .*there is no cloud that it could come from/);
  }));

Deno.test("apply() links models under their name, and moves the link", () =>
  withPackageHome(async ({ home, start }) => {
    const { manager, publish } = bound(start());
    publish("acme/net", "1.0.0", small("one"));
    publish("acme/net", "2.0.0", small("two"));
    const linked = () => Deno.readTextFile(join(home, "packages/net/version"));
    await manager.apply([model]);
    assert.equal(await linked(), "one");
    assert.equal(
      await Deno.readLink(join(home, "packages/net")),
      "data/ml_model/acme-net-1_0_0",
    );
    await manager.apply([{ ...model, version: "2.0.0" }]);
    assert.equal(await linked(), "two");
    await manager.apply([{ ...model, name: "other" }]);
    await manager.cleanUp([]);
    assert.deepEqual(await treeOf(join(home, "packages")), [
      "data/",
      "data/ml_model/",
      "data/ml_model/acme-net-1_0_0/",
      "data/ml_model/acme-net-1_0_0/version",
      "other -> data/ml_model/acme-net-1_0_0",
      "part/",
    ]);
  }));

Deno.test("folder() is pending with progress while a package comes, with the version before", () =>
  withPackageHome(async ({ home, start }) => {
    const { manager, publish, stateOf } = bound(start());
    publish("acme/reader", "1.2.3", program);
    const slow = publish("acme/reader", "2.0.0", program, { hangAfter: 65_536 });
    await manager.apply([reader]);
    const applying = manager.apply([{ ...reader, version: "2.0.0" }]);
    await waitFor(() => manager.snapshot()[0]?.bytesDownloaded === 65_536, soon);
    assert.equal(stateOf("reader"), "downloading");
    assert.equal(manager.snapshot()[0]?.totalBytes, program.length);
    assert.deepEqual(manager.folder("module", "reader"), {
      pending: "the package acme/reader 2.0.0 is being downloaded",
      previous: join(home, "packages/data/module/acme-reader-1_2_3"),
    });
    await manager.cleanUp([]);
    assert.equal(
      (await Deno.stat(join(home, "packages/data/module/acme-reader-1_2_3"))).isFile,
      false,
    );
    delete slow.hangAfter;
    await manager.apply([reader]);
    await applying;
    assert.equal(stateOf("reader"), "ready");
  }));

Deno.test("apply() tries again with growing waits, never in a tight loop", () =>
  withPackageHome(async ({ server, clock, start }) => {
    const { manager, publish, stateOf, log } = bound(start());
    const file = publish("acme/reader", "1.2.3", program, { status: 503 });
    await manager.apply([reader]);
    assert.match(stateOf("reader"), /^failed: .*answered 503/);
    assert.match(JSON.stringify(manager.folder("module", "reader")), /^\{"problem":".*503/);
    const heads = () => server.seen("HEAD").length;
    const after = async (ms: number) => {
      const before = heads();
      await clock.advance(ms - 1);
      assert.equal(heads(), before);
      await clock.advance(1);
      await waitFor(() => log.messages("warn").length === before + 1, soon);
    };
    for (const ms of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) await after(ms);
    delete file.status;
    await clock.advance(60_000);
    await waitFor(() => stateOf("reader") === "ready", soon);
  }));

Deno.test("apply() refuses and removes what is not the announced archive, and tries later", () =>
  withPackageHome(async ({ home, server, clock, start }) => {
    const { manager, publish, stateOf } = bound(start());
    const file = publish("acme/reader", "1.2.3", program, { sha256: "0".repeat(64) });
    await manager.apply([reader]);
    assert.match(stateOf("reader"), /^failed: .*announced was 0{64}; it was removed/);
    assert.deepEqual(await treeOf(join(home, "packages")), ["part/"]);
    delete file.sha256;
    publish("acme/reader", "1.2.3", program);
    await clock.advance(29_999);
    assert.equal(server.seen("GET").length, 1);
    await clock.advance(1);
    await waitFor(() => stateOf("reader") === "ready", soon);
  }));

Deno.test("apply() unpacks nothing of an archive that leaves its folder; others are not touched", () =>
  withPackageHome(async ({ home, start }) => {
    const { manager, publish, stateOf, log } = bound(start());
    const evil = tarGzOf([
      { path: "fine", content: "x" },
      { path: "../../../../evil", content: "x" },
    ]);
    publish("acme/evil", "1.0.0", evil);
    publish("acme/cut", "1.0.0", program.slice(0, 100_000));
    publish("acme/reader", "1.2.3", program);
    await manager.apply([
      { ...reader, name: "evil", package: "acme/evil", version: "1.0.0" },
      { ...reader, name: "cut", package: "acme/cut", version: "1.0.0" },
      reader,
    ]);
    assert.match(stateOf("evil"), /^failed: the archive is refused: .*could leave its folder/);
    assert.match(stateOf("cut"), /^failed: the archive is refused: it is no whole gzip file/);
    assert.equal(stateOf("reader"), "ready");
    assert.deepEqual(await treeOf(join(home, "packages")), [
      "data/",
      "data/module/",
      "data/module/acme-reader-1_2_3/",
      "data/module/acme-reader-1_2_3/data.bin",
      "data/module/acme-reader-1_2_3/run",
      "part/",
    ]);
    assert.equal(log.messages("warn").length, 2);
    assert.match(log.text(), /acme\/evil 1\.0\.0 is not ready: .*next attempt in 30 s/);
  }));

Deno.test("apply() tells what the cloud answers", () =>
  withPackageHome(async ({ start }) => {
    const { manager, cloud, stateOf } = bound(start());
    cloud.packages.set("acme/void 1.0.0", { url: "" });
    await manager.apply([
      reader,
      { ...reader, name: "void", package: "acme/void", version: "1.0.0" },
    ]);
    assert.match(stateOf("reader"), /does not report where .* is: no package acme\/reader/);
    assert.match(stateOf("void"), /the cloud gives no address for the package acme\/void 1\.0\.0/);
  }));

for (
  const [what, wanted, why] of [
    ["its package", { ...reader, package: "../evil" }, /<organisation>\/<name> is needed/],
    ["its package", { ...reader, package: "acme/../../evil" }, /<organisation>\/<name> is needed/],
    ["its package", { ...reader, package: "acme/.." }, /cannot be used/],
    ["its version", { ...reader, version: "../../1" }, /the version "..\/..\/1" .* cannot be used/],
    ["its name", { ...model, name: "../../evil" }, /the package name .* cannot be used/],
    ["its name", { ...model, name: "data" }, /data and part are taken/],
  ] as const
) {
  Deno.test(`apply() refuses a package with a path in ${what}: ${JSON.stringify(wanted)}`, () =>
    withPackageHome(async ({ home, start }) => {
      const { manager, publish, stateOf, cloud } = bound(start());
      publish(wanted.package, wanted.version, program);
      await manager.apply([wanted]);
      assert.match(stateOf(wanted.name), why);
      assert.equal(cloud.asked.length, 0);
      assert.deepEqual(await treeOf(home).then((tree) => tree.filter((x) => !/\.db/.test(x))), []);
    }));
}

Deno.test("apply() works on three packages at a time, and a slow one holds up no other", () =>
  withPackageHome(async ({ server, start }) => {
    const { manager, publish, stateOf } = bound(start());
    const slow = ["a", "b"].map((name) =>
      publish(`acme/${name}`, "1.0.0", program, { hangAfter: 10 })
    );
    for (const name of ["c", "d", "e", "f"]) publish(`acme/${name}`, "1.0.0", small(name));
    const names = ["a", "b", "c", "d", "e", "f"];
    const applying = manager.apply(
      names.map((name) => ({ ...reader, name, package: `acme/${name}`, version: "1.0.0" })),
    );
    await waitFor(() => names.slice(2).every((name) => stateOf(name) === "ready"), soon);
    assert.deepEqual([stateOf("a"), stateOf("b")], ["downloading", "downloading"]);
    assert.deepEqual(server.seen("HEAD").slice(0, 3).sort(), [
      "/acme/a/1.0.0.tar.gz",
      "/acme/b/1.0.0.tar.gz",
      "/acme/c/1.0.0.tar.gz",
    ]);
    for (const file of slow) delete file.hangAfter;
    await manager.apply([]);
    await applying;
  }));

Deno.test("apply() breaks off what is no longer wanted, and goes on with it after a restart", () =>
  withPackageHome(async ({ server, start }) => {
    const first = start();
    const file = first.publish("acme/reader", "1.2.3", program, { hangAfter: 65_536 });
    const applying = first.manager.apply([reader]);
    await waitFor(() => first.manager.snapshot()[0]?.bytesDownloaded === 65_536, soon);
    await first.manager.apply([]);
    await applying;
    assert.deepEqual(first.manager.snapshot(), []);
    await first.close();
    delete file.hangAfter;
    const second = start();
    second.publish("acme/reader", "1.2.3", program);
    await second.manager.apply([reader]);
    assert.equal(second.stateOf("reader"), "ready");
    assert.deepEqual(server.seen("GET"), [
      "/acme/reader/1.2.3.tar.gz",
      "/acme/reader/1.2.3.tar.gz bytes=65536-",
    ]);
  }));

Deno.test("apply() fetches once what two names want, and keeps apart what would share a folder", () =>
  withPackageHome(async ({ home, server, start }) => {
    const { manager, publish } = bound(start());
    publish("acme/reader", "1.2.3", program);
    publish("a-b/c", "1.0", small("first"));
    publish("a/b-c", "1.0", small("second"));
    await manager.apply([
      reader,
      { ...reader, name: "again" },
      { ...reader, name: "first", package: "a-b/c", version: "1.0" },
      { ...reader, name: "second", package: "a/b-c", version: "1.0" },
    ]);
    assert.equal(server.seen("GET").filter((path) => path.startsWith("/acme/")).length, 1);
    assert.deepEqual(manager.folder("module", "again"), manager.folder("module", "reader"));
    const text = async (name: string) => {
      const folder = manager.folder("module", name);
      assert.ok(folder && "path" in folder);
      assert.ok(folder.path.startsWith(join(home, "packages/data/module/a-b-c-1_0")));
      return await Deno.readTextFile(join(folder.path, "version"));
    };
    assert.deepEqual([await text("first"), await text("second")], ["first", "second"]);
  }));

Deno.test("apply() asks for the newest version, and takes what is here when it cannot ask", () =>
  withPackageHome(async ({ start }) => {
    const { manager, cloud, publish, stateOf } = bound(start());
    const latest = { ...reader, version: "latest" };
    const point = (version: string) => {
      publish("acme/reader", version, small(version));
      const { url } = cloud.packages.get(`acme/reader ${version}`) ?? { url: "" };
      cloud.packages.set("acme/reader latest", { url, version });
    };
    point("1.0.0");
    await manager.apply([latest]);
    assert.equal(manager.snapshot()[0]?.version, "1.0.0");
    point("1.1.0");
    await manager.apply([latest]);
    assert.equal(manager.snapshot()[0]?.version, "1.1.0");
    cloud.failure = Code.Unavailable;
    await manager.apply([latest]);
    assert.equal(stateOf("reader"), "ready");
    assert.equal(manager.snapshot()[0]?.version, "1.1.0");
  }));

Deno.test("setFirstRun() shows in the status of a module that is ready", () =>
  withPackageHome(async ({ start }) => {
    const { manager, publish, stateOf, ...rig } = bound(start());
    publish("acme/reader", "1.2.3", program);
    await manager.apply([reader]);
    const before = rig.changes();
    manager.setFirstRun("reader", true);
    assert.equal(stateOf("reader"), "first_run");
    assert.equal(rig.changes(), before + 1);
    manager.setFirstRun("reader", false, "it ended with 1");
    assert.equal(stateOf("reader"), "failed: it ended with 1");
    assert.ok("path" in (manager.folder("module", "reader") ?? {}));
    manager.setFirstRun("reader", false);
    assert.equal(stateOf("reader"), "ready");
    manager.setFirstRun("nobody", true);
  }));

Deno.test("close() ends downloads and waits at once", () =>
  withFolder(async (home) => {
    const server = await FileServer.start();
    const rig = new PackageRig(home, server, systemClock);
    rig.publish("acme/reader", "1.2.3", program, { hangAfter: 10 });
    rig.publish("acme/big", "1.0.0", program, { status: 503 });
    const applying = rig.manager.apply([
      reader,
      { ...reader, name: "big", package: "acme/big", version: "1.0.0" },
    ]);
    await waitFor(() => rig.stateOf("big").startsWith("failed"), soon);
    await rig.close();
    await applying;
    await server.close();
  }));

import assert from "node:assert/strict";
import { join } from "node:path";
import { FileServer, randomBytes, withFolder } from "../../../shared/transfer/download/testing.ts";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { tarGzOf, treeOf } from "../../../shared/transfer/archive/testing.ts";

const here = import.meta.dirname ?? ".";
const SOURCE = `
  import { installModel } from "./rig_testing.ts";
  const [home, url, version] = Deno.args;
  console.log(JSON.stringify(await installModel(home, url, version)));`;

const archives = ["1.0.0", "2.0.0"].map((version) =>
  tarGzOf([
    { path: "model.bin", content: randomBytes(400_000) },
    { path: "labels.txt", content: version },
    { path: "latest", type: "SymbolicLink", linkpath: "model.bin" },
  ])
);

function withServer(test: (home: string, server: FileServer) => Promise<void>): Promise<void> {
  return withFolder(async (home) => {
    const server = await FileServer.start();
    archives.forEach((bytes, index) => server.files.set(`/${index + 1}.0.0`, { bytes }));
    try {
      await test(home, server);
    } finally {
      await server.close();
    }
  });
}

function run(home: string, server: FileServer, version: string, faultPoint?: string) {
  const args = [home, `${server.origin}/${version}`, version];
  return runFaultChild(SOURCE, { folder: here, args, ...(faultPoint && { faultPoint }) });
}

/** Only this version is there, whole, and nothing is left of anything else. */
async function assertOnly(home: string, version: string): Promise<void> {
  const folder = `data/ml_model/acme-net-${version.replaceAll(".", "_")}`;
  assert.deepEqual(await treeOf(join(home, "packages")), [
    "data/",
    "data/ml_model/",
    `${folder}/`,
    `${folder}/labels.txt`,
    `${folder}/latest -> model.bin`,
    `${folder}/model.bin`,
    `net -> ${folder}`,
    "part/",
  ]);
  const labels = await Deno.readTextFile(join(home, "packages/net/labels.txt"));
  assert.equal(labels, version);
  const { size } = await Deno.stat(join(home, "packages/net/latest"));
  assert.equal(size, 400_000);
}

/** Where it dies, and what the next start asks the server for. */
const whileInstalling: [faultPoint: string, gets: RegExp][] = [
  ["packages.download.begun", /^\/1\.0\.0,\/1\.0\.0$/],
  ["download.writing", /^\/1\.0\.0,\/1\.0\.0 bytes=\d+-$/],
  ["download.writing#4", /^\/1\.0\.0,\/1\.0\.0 bytes=\d+-$/],
  ["download.complete", /^\/1\.0\.0$/],
  ["packages.unpack.entry", /^\/1\.0\.0$/],
  ["packages.unpack.entry#2", /^\/1\.0\.0$/],
  ["packages.unpack.before-sync", /^\/1\.0\.0$/],
  ["packages.install.before-rename", /^\/1\.0\.0$/],
  ["packages.install.after-rename", /^\/1\.0\.0$/],
  ["packages.install.after-row", /^\/1\.0\.0$/],
  ["files.symlink.before-rename", /^\/1\.0\.0$/],
  ["files.symlink.after-rename", /^\/1\.0\.0$/],
];
for (const [faultPoint, gets] of whileInstalling) {
  Deno.test(`apply() repairs at the next start when killed at ${faultPoint}`, () =>
    withServer(async (home, server) => {
      const killed = await run(home, server, "1.0.0", faultPoint);
      assert.deepEqual([killed.signal, killed.stdout], ["SIGKILL", ""], killed.stderr);
      const next = await run(home, server, "1.0.0");
      assert.equal(next.code, 0, next.stderr);
      const path = join(home, "packages/data/ml_model/acme-net-1_0_0");
      assert.deepEqual(JSON.parse(next.stdout), { path });
      assert.match(server.seen("GET").join(), gets);
      if (faultPoint === "packages.install.after-row") {
        // What was written down stands, also without its server.
        assert.equal(server.seen("HEAD").length, 1);
      }
      await assertOnly(home, "1.0.0");
    }));
}

const whileReplacing = [
  "packages.unpack.before-sync",
  "packages.install.after-rename",
  "packages.install.after-row",
  "files.symlink.before-rename",
  "packages.clean-up.row-removed",
  "packages.discard.renamed",
];
for (const faultPoint of whileReplacing) {
  Deno.test(`apply() leaves one whole version when killed in an update at ${faultPoint}`, () =>
    withServer(async (home, server) => {
      assert.equal((await run(home, server, "1.0.0")).code, 0);
      await assertOnly(home, "1.0.0");
      const killed = await run(home, server, "2.0.0", faultPoint);
      assert.equal(killed.signal, "SIGKILL", killed.stderr);
      const link = await Deno.readTextFile(join(home, "packages/net/labels.txt"));
      assert.ok(["1.0.0", "2.0.0"].includes(link));
      const next = await run(home, server, "2.0.0");
      assert.equal(next.code, 0, next.stderr);
      assert.equal(server.seen("GET").filter((path) => path === "/2.0.0").length, 1);
      await assertOnly(home, "2.0.0");
    }));
}

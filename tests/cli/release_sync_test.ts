import assert from "node:assert/strict";
import { join } from "node:path";
import { runCloudCommand } from "../../cloud/local/commands/commands_testing.ts";
import { TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { type Release, writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";

/** A download folder on a web server, a cloud, and the command between them. */
interface Rig {
  readonly folder: string;
  /** Paths that were requested. */
  readonly asked: string[];
  publish(version: string, text?: string): Promise<void>;
  sync(...more: string[]): Promise<string>;
  list(): Promise<string>;
}

const key = SigningKey.read(secretKeyFile(), undefined);

async function withRig(work: (rig: Rig) => Promise<void>): Promise<void> {
  await using cloud = await TestCloud.open();
  const dir = await Deno.makeTempDir();
  const folder = join(dir, "release");
  const asked: string[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      try {
        return new Response((await Deno.open(join(folder, pathname))).readable);
      } catch {
        return new Response("no such file", { status: 404 });
      }
    },
  );
  const data = ["--data", cloud.dataDir];
  const publicKey = key.publicFile.split("\n")[1]!;
  try {
    await work({
      folder,
      asked,
      async publish(version, text = version) {
        const file = join(dir, "program");
        await Deno.writeTextFile(file, `#!/bin/sh\necho ${text}\n`);
        const release: Release = {
          ...{ version, date: "2026-01-31", commit: "abc1234", notes: "New.", bill: "{}\n" },
          packages: [],
          programs: [
            { program: "machine-server", platform: "linux/amd64", file },
            { program: "machine-agent", platform: "linux/amd64", file },
            { program: "machine", platform: "linux/amd64", file },
          ],
        };
        await writeRelease(folder, release, key, []);
      },
      sync: (...more) =>
        runCloudCommand([
          ...["release", "sync", ...data, "--key", publicKey, ...more],
          `http://127.0.0.1:${server.addr.port}`,
        ], { env: {} }),
      list: () => runCloudCommand(["release", "list", ...data], { env: {} }),
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("release sync brings the newest release once", async () => {
  await withRig(async ({ publish, sync, list, asked }) => {
    await publish("1.2.3");
    assert.equal(
      await sync(),
      "added  machine-server  1.2.3  linux/amd64\nadded  machine-agent   1.2.3  linux/amd64\n",
    );
    const shown = await list();
    assert.match(shown, /machine-server {2}1\.2\.3 +stable +linux\/amd64 .* New\./);
    assert.match(shown, /machine-agent +1\.2\.3 +stable/);
    asked.length = 0;
    assert.equal(await sync(), "1.2.3 is here already\n");
    assert.deepEqual(asked, ["/stable.json", "/stable.json.minisig"]);
    await publish("1.3.0");
    assert.match(await sync("--channel", "dev", "--percent", "10"), /machine-server {2}1\.3\.0/);
    assert.match(await list(), /machine-server {2}1\.3\.0 +dev +linux\/amd64 +0 +10 %/);
  });
});

Deno.test("release sync adds nothing that is not signed with the key", async () => {
  await withRig(async ({ publish, sync, list, folder, asked }) => {
    await publish("1.2.3");
    const list1 = join(folder, "stable.json");
    const text = await Deno.readTextFile(list1);
    await Deno.writeTextFile(list1, text.replace("1.2.3", "9.9.9"));
    await assert.rejects(
      sync(),
      /stable\.json: the signature is not over this file.*nothing was added/,
    );
    await Deno.writeTextFile(list1, text);
    const other = SigningKey.read(secretKeyFile(), undefined);
    const bytes = new TextEncoder().encode(text);
    await Deno.writeTextFile(`${list1}.minisig`, other.minisign(bytes, "x"));
    await assert.rejects(sync(), /the signature is not over this file/);
    await Deno.remove(`${list1}.minisig`);
    await assert.rejects(sync(), /stable\.json\.minisig answers 404/);
    assert.ok(asked.every((path) => path.startsWith("/stable.json")), asked.join());
    assert.match(await list(), /^no releases/);
  });
});

Deno.test("release sync adds no file that is not what the signed list says", async () => {
  await withRig(async ({ publish, sync, list, folder }) => {
    await publish("1.2.3");
    const program = join(folder, "server/1.2.3/linux/amd64/machine-server");
    const text = await Deno.readTextFile(program);
    for (const wrong of [text.replace("echo", "evil"), text.slice(1), `${text}#`]) {
      await Deno.writeTextFile(program, wrong);
      await assert.rejects(sync(), /is not the file that|is longer than/);
    }
    await Deno.remove(program);
    await assert.rejects(sync(), /machine-server answers 404/);
    assert.match(await list(), /^no releases/);
    await Deno.writeTextFile(program, text);
    assert.match(await sync(), /added {2}machine-server/);
  });
});

Deno.test("release sync refuses the list of another channel, and other files for a version", async () => {
  await withRig(async ({ publish, sync, folder }) => {
    await publish("1.2.3-rc.1");
    for (const ending of ["", ".minisig"]) {
      await Deno.copyFile(join(folder, `dev.json${ending}`), join(folder, `stable.json${ending}`));
    }
    await assert.rejects(sync(), /it is the list of dev; nothing was added/);
    await sync("--follow", "dev");
    await Deno.remove(folder, { recursive: true });
    await publish("1.2.3-rc.1", "other");
    await assert.rejects(sync("--follow", "dev"), /is another file in this cloud/);
  });
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { runCloudCommand } from "../../cloud/local/commands/commands_testing.ts";
import { followReleases, LOOK_EVERY_MS } from "../../cloud/releases/source/release_source.ts";
import { TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { createClient } from "@connectrpc/connect";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { ReleaseService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { eventually } from "../e2e/rig.ts";
import { type Release, writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";

/** A download folder on a web server, a cloud, and the command between them. */
interface Rig {
  readonly folder: string;
  /** Paths that were requested. */
  readonly asked: string[];
  /** @param more further settings of the release */
  publish(version: string, text?: string, more?: Partial<Release>): Promise<void>;
  sync(...more: string[]): Promise<string>;
  list(): Promise<string>;
  /** Follows the folder as a cloud that serves does, until the work is done. */
  follow(work: (turn: () => Promise<void>, lines: () => string[]) => Promise<void>): Promise<void>;
}

const DAY_MS = 24 * 60 * 60_000;
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const TODAY = dayText(Date.now());
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
      async publish(version, text = version, more = {}) {
        const file = join(dir, "program");
        await Deno.writeTextFile(file, `#!/bin/sh\necho ${text}\n`);
        const release: Release = {
          ...{ version, date: TODAY, commit: "abc1234", notes: "New.", bill: "{}\n" },
          packages: [],
          programs: [
            { program: "machine-server", platform: "linux/amd64", file },
            { program: "machine-agent", platform: "linux/amd64", file },
            { program: "machine", platform: "linux/amd64", file },
          ],
          ...more,
        };
        await writeRelease(folder, release, key, []);
      },
      sync: (...more) =>
        runCloudCommand([
          ...["release", "sync", ...data, "--key", publicKey, ...more],
          `http://127.0.0.1:${server.addr.port}`,
        ], { env: {} }),
      list: () => runCloudCommand(["release", "list", ...data], { env: {} }),
      async follow(work) {
        const clock = new FakeClock(Date.now());
        const stop = new AbortController();
        const { services, folder: { database: { queries } }, log } = cloud;
        const from = `http://127.0.0.1:${server.addr.port}/`;
        const following = followReleases({
          settings: { from, key: publicKey, follows: "stable", percent: 50 },
          client: createClient(ReleaseService, createInProcessTransport(services.sourceRouter)),
          ...{ queries, clock, log },
        }, stop.signal);
        const turn = async () => {
          await eventually(
            "it waits for its next turn",
            () => Promise.resolve(clock.pendingTimers === 1),
          );
          // The longest that it waits.
          await clock.advance(1.05 * LOOK_EVERY_MS);
          await eventually("it has looked", () => Promise.resolve(clock.pendingTimers === 1));
        };
        const lines = () => log.entries.map(({ fields }) => JSON.stringify(fields));
        await work(turn, lines).finally(async () => {
          stop.abort();
          await following;
        });
      },
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

Deno.test("release sync goes neither back nor by a list that expired", async () => {
  await withRig(async ({ publish, sync, list, folder }) => {
    await publish("1.3.0");
    await sync();
    await Deno.remove(folder, { recursive: true });
    await publish("1.2.9");
    await assert.rejects(sync(), /1\.2\.9 is older than 1\.3\.0, which this cloud has/);
    await Deno.remove(folder, { recursive: true });
    await publish("1.4.0", "1.4.0", { date: dayText(Date.now() - 400 * DAY_MS) });
    await assert.rejects(sync(), /stable\.json: it expired on .*; nothing was added/);
    await publish("1.4.1");
    await sync();
    assert.doesNotMatch(await list(), /1\.2\.9|1\.4\.0/);
  });
});

Deno.test("a cloud follows a folder: each release once, never back, and faults once", async () => {
  await withRig(async ({ publish, list, folder, follow, asked }) => {
    await follow(async (turn, lines) => {
      const failures = () => lines().filter((line) => line.includes("release_source_failed"));
      await turn();
      await turn();
      assert.equal(failures().length, 1, "the same fault is reported once");
      assert.match(failures()[0]!, /stable\.json answers 404/);
      await publish("1.3.0");
      await turn();
      assert.match(lines().at(-1)!, /release_added.*1\.3\.0/);
      assert.match(await list(), /machine-server {2}1\.3\.0 +stable +linux\/amd64 +0 +50 %/);

      asked.length = 0;
      await turn();
      assert.deepEqual(asked, ["/stable.json", "/stable.json.minisig"]);
      await Deno.remove(folder, { recursive: true });
      await publish("1.2.9");
      await turn();
      assert.match(failures()[1]!, /1\.2\.9 is older than 1\.3\.0, which was brought before/);
      await publish("1.3.1");
      await turn();
      assert.match(await list(), /machine-server {2}1\.3\.1/);
      assert.doesNotMatch(await list(), /1\.2\.9/);
    });
  });
});

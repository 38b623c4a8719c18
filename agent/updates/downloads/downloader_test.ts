import assert from "node:assert/strict";
import { join } from "node:path";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import { originCredentials } from "../../../shared/transfer/download/origin_credentials.ts";
import {
  FileServer,
  type ServedFile,
  sha256Of,
} from "../../../shared/transfer/download/testing.ts";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { DownloadProgress } from "./progress.ts";
import {
  bytes,
  type DownloadRig,
  fails,
  never,
  programBytes,
  release,
  serve,
  withRig,
} from "./rig_testing.ts";

const nameOf = (content: Uint8Array, version = "1.0.0") =>
  `machine-server-${version}-${sha256Of(content).slice(0, 12)}`;
const MINUTE_MS = 60_000;
const isWindows = Deno.build.os === "windows";

/** Moves the clock on while the downloader waits, until the work is done. */
async function settled<T>(
  { clock, rig, isWaiting = () => rig.progress.at(-1)?.nextAttemptAt !== undefined }: {
    clock: FakeClock;
    rig: DownloadRig;
    isWaiting?: () => boolean;
  },
  work: Promise<T>,
): Promise<T> {
  let isDone = false;
  work.then(() => isDone = true, () => isDone = true);
  await waitFor(async () => {
    if (!isDone && isWaiting()) await clock.advance(500);
    return isDone;
  }, { deadlineMs: 60_000 });
  return await work;
}

Deno.test("obtain() brings a release into the cache, checked and ready to be started", () =>
  withRig(async ({ server, start }) => {
    const rig = start();
    const wanted = release(server, bytes);
    const { path, sha256 } = await rig.obtain(wanted);
    assert.equal(path, join(rig.cacheDir, nameOf(bytes)));
    assert.equal(sha256, sha256Of(bytes));
    assert.deepEqual(await Deno.readFile(path), bytes);
    if (!isWindows) assert.equal((await Deno.stat(path)).mode! & 0o777, 0o755);
    assert.deepEqual(rig.names(), [nameOf(bytes)]);
    assert.deepEqual(server.seen("GET"), ["/machine-server-1.0.0"]);
    assert.equal(rig.progress.at(-1)?.bytesDownloaded, bytes.length);
    assert.equal(rig.progress.at(-1)?.totalBytes, bytes.length);
    assert.deepEqual(rig.downloader.snapshot(), []);

    assert.deepEqual(await rig.obtain(wanted), { path, sha256 });
    assert.deepEqual(await start().obtain(wanted), { path, sha256 });
    assert.equal(server.requests.length, 1, "it is here");
  }));

Deno.test("obtain() fetches a file anew when it was changed on the disk", () =>
  withRig(async ({ server, start }) => {
    const wanted = release(server, bytes);
    const { path } = await start().obtain(wanted);
    await Deno.writeFile(path, bytes.slice().fill(0, 1_000, 1_001));
    // File systems count time in steps of some milliseconds; this may be the same as before.
    await Deno.utime(path, new Date(), new Date(Date.now() - 60_000));
    assert.equal((await start().obtain(wanted)).path, path);
    assert.deepEqual(await Deno.readFile(path), bytes);
    await Deno.remove(path);
    await start().obtain(wanted);
    assert.deepEqual(await Deno.readFile(path), bytes);
    assert.equal(server.seen("GET").length, 3);
    await Deno.utime(path, new Date(), new Date());
    await start().obtain(wanted);
    assert.equal(server.seen("GET").length, 3, "the same bytes with another time");
  }));

Deno.test("obtain() goes on where connections were cut, by itself and over a restart", () =>
  withRig(async ({ server, start }) => {
    const wanted = release(server, bytes);
    serve(server, { cutAfter: [100_000, 65_536] });
    const clock = new FakeClock();
    const rig = start(clock);
    await settled({ clock, rig }, rig.obtain(wanted));
    const gets = server.seen("GET").map((get) => /bytes=(\d+)-/.exec(get)?.[1]).map(Number);
    assert.equal(gets.length, 3);
    assert.ok(gets[1]! > 0 && gets[2]! > gets[1]!, gets.join());
    assert.match(rig.log.text(), /is not here yet.*closed after \d+ of 300000 bytes/);
    assert.match(rig.progress.map(({ error }) => error).join("\n"), /closed after/);

    const second = release(server, programBytes(), "2.0.0");
    const file = server.files.get("/machine-server-2.0.0");
    assert.ok(file);
    file.cutAfter = [100_000];
    const stop = new AbortController();
    const cut = rig.obtain(second, stop.signal);
    await waitFor(
      () =>
        rig.progress.some(({ nextAttemptAt, version }) =>
          version === "2.0.0" && nextAttemptAt !== undefined
        ),
      { deadlineMs: 60_000 },
    );
    stop.abort(new Error("the agent ends"));
    await assert.rejects(cut, /the agent ends/);
    await start().obtain(second);
    assert.match(server.seen("GET").at(-1) ?? "", /2\.0\.0 bytes=\d{4,}-/);
  }));

Deno.test("obtain() does not fail while each attempt brings something", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const wanted = release(server, bytes);
    const rig = start(clock);
    serve(server, { cutAfter: Array<number>(8).fill(30_000) });
    await settled({ clock, rig }, rig.obtain(wanted));
    assert.equal(server.seen("GET").length, 9);
  }));

Deno.test("obtain() keeps its partial file from being cleaned away", () =>
  withRig(async ({ server, start }) => {
    const rig = start();
    const wanted = release(server, bytes);
    serve(server, { hangAfter: 65_536 });
    const stop = new AbortController();
    const hanging = assert.rejects(rig.obtain(wanted, stop.signal), /enough/);
    await waitFor(() => rig.names().length === 1, { deadlineMs: 60_000 });
    await rig.cleaner.clean("all");
    assert.equal(rig.names().length, 1);
    stop.abort(new Error("enough"));
    await hanging;
    await rig.cleaner.clean("all");
    assert.equal(rig.names().length, 0);
  }));

Deno.test("obtain() starts over when the file became another one between the pieces", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    serve(server, { cutAfter: [100_000] }, "/custom");
    const url = `${server.origin}/custom`;
    const other = programBytes();
    const obtaining = rig.obtain({ url });
    await waitFor(() => rig.progress.some(({ error }) => error !== ""), { deadlineMs: 60_000 });
    serve(server, { bytes: other }, "/custom");
    const { path, sha256 } = await settled({ clock, rig }, obtaining);
    assert.equal(sha256, sha256Of(other));
    assert.deepEqual(await Deno.readFile(path), other);
    assert.match(server.seen("GET")[1] ?? "", /bytes=\d+-/);
  }));

for (
  const [what, file, reason] of [
    ["another hash", { bytes: programBytes() }, /is not the one announced: its sha256 is/],
    ["another length", { bytes: programBytes(299_999) }, /has 299999 bytes, .* 300000 bytes long/],
    ["a false length", { contentLength: 200_000 }, /has 200000 bytes, .* 300000 bytes long/],
    ["a withdrawn release", { status: 410 }, /answered 410/],
    ["no such release", { status: 404 }, /answered 404/],
    ["an encoding", { headers: { "content-encoding": "br" } }, /content encoding "br"/],
  ] as [string, Partial<ServedFile>, RegExp][]
) {
  Deno.test(`obtain() refuses, removes and remembers ${what}`, () =>
    withRig(async ({ server, start }) => {
      const wanted = release(server, bytes);
      const right = server.files.get("/machine-server-1.0.0");
      serve(server, file);
      const clock = new FakeClock();
      const error = await fails(start(clock).obtain(wanted), true, reason);
      const rig = start(clock);
      assert.deepEqual(rig.names(), []);
      const asked = server.requests.length;
      for (let turn = 0; turn < 14; turn++) {
        await fails(rig.obtain({ ...wanted, url: `${wanted.url}${turn}` }), true, reason);
        await clock.advance(MINUTE_MS);
      }
      assert.equal(server.requests.length, asked, "not in a loop");
      assert.equal(error.retryAt.getTime() - clock.now().getTime(), MINUTE_MS);
      await clock.advance(MINUTE_MS);
      const later = await fails(rig.obtain(wanted), true, reason);
      assert.equal(later.retryAt.getTime() - clock.now().getTime(), 30 * MINUTE_MS);

      assert.ok(right);
      server.files.set("/machine-server-1.0.0", right);
      await fails(rig.obtain(wanted), true, reason);
      rig.downloader.forgetRefusals("machine-server", "1.0.0");
      assert.equal((await rig.obtain(wanted)).sha256, wanted.sha256);
    }));
}

Deno.test("obtain() keeps no refusal forever when the clock was set back", () =>
  withRig(async ({ server, start }) => {
    const wanted = release(server, bytes);
    serve(server, { status: 404 });
    const clock = new FakeClock("2036-01-01T00:00:00Z");
    await fails(start(clock).obtain(wanted), true, /404/);
    clock.setNow("2026-01-01T00:00:00Z");
    serve(server, {});
    await start(clock).obtain(wanted);
  }));

Deno.test("obtain() refuses what is no program for here", () =>
  withRig(async ({ server, start }) => {
    const rig = start();
    const wanted = release(server, bytes);
    const script = new TextEncoder().encode("#!/bin/sh\necho hello\n".padEnd(100));
    for (
      const [content, reason] of [
        [programBytes(1_000, 0xb7), /is a program for another processor.* linux\/amd64/],
        [script, /it is no program/],
        [new TextEncoder().encode("<html>sign in</html>"), /it is no program/],
      ] as const
    ) {
      await fails(rig.obtain(release(server, content.slice(), "3.0.0")), true, reason);
    }
    assert.deepEqual(rig.names(), []);
    await rig.obtain({ ...wanted, version: "1.0.1" });
    assert.deepEqual(rig.names(), [nameOf(bytes, "1.0.1")], "it may be the one that runs");
  }));

Deno.test("obtain() ends cleanly when the release is withdrawn in the middle", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    const wanted = release(server, bytes);
    serve(server, { cutAfter: [100_000] });
    const obtaining = rig.obtain(wanted);
    await waitFor(() => rig.progress.some(({ error }) => error !== ""), { deadlineMs: 60_000 });
    serve(server, { status: 410 });
    await fails(settled({ clock, rig }, obtaining), true, /answered 410/);
    assert.deepEqual(rig.names(), []);

    serve(server, { hangAfter: 65_536 });
    const other = { ...wanted, version: "1.0.1" };
    const stop = new AbortController();
    const hanging = rig.obtain(other, stop.signal);
    await waitFor(() => rig.names().length === 1, { deadlineMs: 60_000 });
    assert.equal(rig.downloader.snapshot()[0]?.version, "1.0.1");
    stop.abort(new Error("another version is wanted"));
    await assert.rejects(hanging, /another version is wanted/);
    const next = release(server, programBytes(), "2.0.0");
    await rig.obtain(next);
    assert.equal(clock.pendingTimers, 0);
  }));

Deno.test("obtain() tries a lost way again with growing waits, then tells its caller", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    const wanted = release(server, bytes);
    serve(server, { status: 503 });
    const waits: number[] = [];
    const report = (progress: DownloadProgress) => {
      rig.progress.push(progress);
      const { nextAttemptAt } = progress;
      if (nextAttemptAt) waits.push(nextAttemptAt.getTime() - clock.now().getTime());
    };
    const whole = { program: "machine-server", ...wanted };
    const obtaining = rig.downloader.obtain(whole, report, never);
    await fails(settled({ clock, rig }, obtaining), false, /answered 503/);
    assert.deepEqual(waits, [2_000, 4_000, 8_000, 16_000, 32_000]);
    assert.equal(server.requests.length, 5);
    const stop = new AbortController();
    const waiting = assert.rejects(rig.obtain(wanted, stop.signal), /enough/);
    await clock.advance(20_000);
    assert.equal(server.requests.length, 5, "the wait goes on over calls");
    stop.abort(new Error("enough"));
    await waiting;
    serve(server, {});
    await settled({ clock, rig }, rig.obtain(wanted));
    await server.close();
    await fails(
      settled({ clock, rig }, rig.obtain({ ...wanted, version: "9" })),
      false,
      /cannot be reached/,
    );
  }));

Deno.test("obtain() leaves an expired link to its caller and what came on the disk", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    const wanted = release(server, bytes);
    serve(server, { cutAfter: [100_000] });
    const obtaining = rig.obtain(wanted);
    await waitFor(() => rig.progress.some(({ error }) => error !== ""), { deadlineMs: 60_000 });
    serve(server, { status: 403 });
    await fails(settled({ clock, rig }, obtaining), false, /answered 403/);
    assert.equal(rig.names().length, 1);
    serve(server, {}, "/another-link");
    await settled({ clock, rig }, rig.obtain({ ...wanted, url: `${server.origin}/another-link` }));
    assert.match(server.seen("GET").at(-1) ?? "", /another-link bytes=\d+/);
  }));

Deno.test("obtain() gives credentials to one origin alone, also over redirects", () =>
  withRig(async ({ server, start }) => {
    const other = await FileServer.start();
    try {
      const credentialsFor = originCredentials(server.origin, {
        type: "robot-secret",
        entity: "who",
        payload: new Secret("s3cret"),
      });
      const rig = start(undefined, { credentialsFor });
      const wanted = release(other, bytes);
      serve(server, { redirect: wanted.url });
      await rig.obtain({ ...wanted, url: `${server.origin}/machine-server-1.0.0` });
      assert.equal(server.requests[0]?.headers["secret"], "s3cret");
      await rig.obtain({ ...wanted, version: "2.0.0" });
      assert.equal(other.requests.length, 2);
      assert.doesNotMatch(JSON.stringify(other.requests), /s3cret|part_id/);
    } finally {
      await other.close();
    }
  }));

Deno.test("obtain() keeps the rate that is set, and tells it with the rest", () =>
  withRig(async ({ server, start }) => {
    const clock = new FakeClock();
    const rig = start(clock);
    rig.limit = 10_000;
    const started = clock.monotonicMs();
    await settled({ clock, rig, isWaiting: () => true }, rig.obtain(release(server, bytes)));
    const seconds = (clock.monotonicMs() - started) / 1_000;
    // The clock also moves while the system reads and writes.
    assert.ok(seconds >= 28 && seconds <= 60, `${seconds} s`);
    const middle = rig.progress.filter(({ secondsLeft, bytesDownloaded }) =>
      secondsLeft !== undefined && bytesDownloaded < bytes.length
    );
    assert.ok(middle.length >= 2 && middle.length <= seconds / 2, `${middle.length} reports`);
    for (const { bytesPerS, bytesDownloaded, secondsLeft } of middle) {
      const left = (bytes.length - bytesDownloaded) / bytesPerS;
      assert.ok(Math.abs(secondsLeft! - left) <= 1);
    }
    const lines = rig.log.entries.filter(({ fields }) => "kilobytes_per_second" in fields);
    assert.ok(lines.length >= 1 && lines.length <= 5, rig.log.text());
  }));

Deno.test("obtain() gives the same file to two who want it at the same time", () =>
  withRig(async ({ server, start }) => {
    const rig = start();
    const wanted = release(server, bytes);
    const [one, two] = await Promise.all([rig.obtain(wanted), rig.obtain(wanted)]);
    assert.deepEqual(one, two);
    assert.equal(server.requests.length, 1);
  }));

Deno.test({
  name: "obtain() makes room on a full disk before it fails",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withRig(async ({ folder, server, start }) => {
      const cacheDir = join(folder, "small");
      await Deno.mkdir(cacheDir);
      await withSmallDisk(cacheDir, 800, async () => {
        const first = release(server, bytes);
        const second = release(server, programBytes(), "2.0.0");
        const third = release(server, programBytes(600_000), "3.0.0");
        const known = new DiskSpace(0);
        const old = await start(undefined, { cacheDir, space: known }).obtain(first);
        // Nothing of the disk's state is known before: the write itself fails.
        const blind = new DiskSpace(0, () => Promise.resolve(Infinity));
        for (const space of [known, blind]) {
          const full = start(undefined, { cacheDir, space });
          full.kept.push(old.path);
          const error = await fails(
            full.obtain({ ...third, version: `${space === blind}` }),
            false,
            space === blind ? /disk is full/ : /no room for the release/,
          );
          assert.ok(error.retryAt.getTime() > Date.now());
          assert.ok(full.names().includes(nameOf(bytes)), "what is in use stays");
          const rig = start(undefined, { cacheDir, space });
          await rig.obtain(second);
          const { path } = await rig.obtain(third);
          assert.deepEqual((await Deno.stat(path)).size, 600_000);
          assert.match(full.log.text(), /is removed from the cache/);
          await start(undefined, { cacheDir, space }).cleaner.clean("all");
          await start(undefined, { cacheDir, space }).obtain(first);
        }
      });
    }),
});

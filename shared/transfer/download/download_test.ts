import assert from "node:assert/strict";
import { join } from "node:path";
import { Secret } from "../../base/redaction/secret.ts";
import type { CloudCredentials } from "../../cloud/auth/cloud_credentials.ts";
import { isSecureAddress } from "../../cloud/credentials/secure_address.ts";
import { systemClock } from "../../base/time/clock.ts";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { DiskSpace } from "./disk_space.ts";
import { type BegunDownload, download, type DownloadOptions } from "./download.ts";
import { SYNC_BYTES } from "./sound_bytes.ts";
import { TransferError, type TransferErrorKind } from "./transfer_error.ts";
import { HttpRequests, shown } from "./http_requests.ts";
import { originCredentials } from "./origin_credentials.ts";
import { FileServer, randomBytes, type ServedFile, sha256Of, withFolder } from "./testing.ts";
import { TRANSFER_LIMITS } from "./watchdog.ts";

const bytes = randomBytes(300_000);

interface Rig {
  server: FileServer;
  part: string;
  /** What the transfer reported. */
  told: { begun: BegunDownload | undefined; progress: number[] };
  run(options?: Partial<DownloadOptions>): ReturnType<typeof download>;
}

function withRig(
  test: (rig: Rig) => Promise<void>,
  { apiKey = false } = {},
): Promise<void> {
  return withFolder(async (folder) => {
    const server = await FileServer.start();
    const part = join(folder, "x.part");
    const told: Rig["told"] = { begun: undefined, progress: [] };
    const type = apiKey ? "api-key" : "robot-secret";
    const requests = requestsTo(server.origin, { type });
    try {
      await test({
        server,
        part,
        told,
        run: (options = {}) =>
          download({
            requests,
            url: `${server.origin}/p?sign=hidden`,
            what: "package",
            contentTypes: new Set(["application/x-gzip", "application/gzip"]),
            headFirst: true,
            needsChecksum: true,
            announced: {},
            part,
            begun: told.begun,
            onBegin: (begun) => void (told.begun = begun),
            onProgress: (count) => void told.progress.push(count),
            space: new DiskSpace(),
            roomFactor: 2,
            limits: TRANSFER_LIMITS,
            clock: systemClock,
            signal: new AbortController().signal,
            ...options,
          }),
      });
    } finally {
      await server.close();
    }
  });
}

async function fails(work: Promise<unknown>, kind: TransferErrorKind, message: RegExp) {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof TransferError, String(error));
    assert.match(error.message, message);
    assert.equal(error.kind, kind, error.message);
    assert.doesNotMatch(error.message, /hidden|s3cret/);
    return true;
  });
}

const sizeOf = async (path: string) => (await Deno.stat(path).catch(() => undefined))?.size;
const done = resultOf(bytes);

Deno.test("download() asks by HEAD and GET, tells progress, and checks what came", () =>
  withRig(async ({ server, part, told, run }) => {
    server.files.set("/p", { bytes });
    assert.deepEqual(await run(), done);
    assert.deepEqual(await Deno.readFile(part), bytes);
    assert.deepEqual(server.requests.map(({ method }) => method), ["HEAD", "GET"]);
    assert.equal(told.begun?.totalBytes, bytes.length);
    assert.equal(told.progress[0], 0);
    assert.equal(told.progress.at(-1), bytes.length);
    assert.deepEqual(told.progress, told.progress.toSorted((a, b) => a - b));
  }));

Deno.test("download() goes on where a connection was cut", () =>
  withRig(async ({ server, part, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000, 65_536] });
    await fails(run(), "unreachable", /closed after \d+ of 300000 bytes; it resumes/);
    const first = await sizeOf(part);
    assert.ok(first !== undefined && first > 0 && first <= 100_000, String(first));
    await fails(run(), "unreachable", /closed after/);
    const second = await sizeOf(part);
    assert.ok(second !== undefined && second > first);
    assert.deepEqual(await run(), done);
    assert.deepEqual(server.seen("GET"), ["/p", `/p bytes=${first}-`, `/p bytes=${second}-`]);
    assert.deepEqual(await Deno.readFile(part), bytes);
  }));

Deno.test("download() takes nothing that a power cut may have spoilt for good", () =>
  withRig(async ({ server, part, told, run }) => {
    const large = randomBytes(2 * SYNC_BYTES + 1_000_000);
    server.files.set("/p", { bytes: large, etag: '"1"' });
    told.begun = { validator: '"1"', totalBytes: large.length };
    const spoilt = large.slice(0, 2 * SYNC_BYTES + 500_000).fill(0, 2 * SYNC_BYTES);
    await Deno.writeFile(part, spoilt);
    const nowMs = Date.now();
    const found = await run({
      headFirst: false,
      times: () => ({ nowMs, bootedMs: nowMs + 60_000 }),
    });
    assert.equal(found.sha256, sha256Of(large));
    assert.deepEqual(await Deno.readFile(part), large);
    assert.deepEqual(server.seen("GET"), [`/p bytes=${2 * SYNC_BYTES}-`]);
  }));

Deno.test("download() asks for nothing more when all is here", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes });
    await run();
    assert.deepEqual(await run(), done);
    assert.deepEqual(server.seen("GET"), ["/p"]);
  }));

Deno.test("download() starts over when the archive became another one", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000] });
    await fails(run(), "unreachable", /closed after/);
    const other = randomBytes(300_000);
    server.files.set("/p", { bytes: other });
    assert.deepEqual(await run(), resultOf(other));
    assert.deepEqual(server.seen("GET"), ["/p", "/p"]);
  }));

Deno.test("download() starts over when it changed between HEAD and GET", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000] });
    await fails(run(), "unreachable", /closed after/);
    const other = randomBytes(200_000);
    // The range is requested for the old tag; the server's is another by then.
    const changing: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (init?.method === "HEAD") server.files.set("/p", { bytes: other });
      return answer;
    };
    const requests = requestsTo(server.origin, { fetch: changing });
    assert.deepEqual(await run({ requests }), resultOf(other));
  }));

Deno.test("download() starts over when the server knows no ranges, or names no state", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000], ranges: false });
    await fails(run(), "unreachable", /closed after/);
    assert.deepEqual(await run(), done);
    server.files.set("/q", { bytes, cutAfter: [100_000], etag: undefined });
    const url = `${server.origin}/q`;
    await fails(run({ url, begun: undefined }), "unreachable", /closed after/);
    assert.deepEqual(await run({ url }), { ...done, validator: "" });
    assert.deepEqual(server.seen("GET").slice(2), ["/q", "/q"]);
  }));

Deno.test("download() manages without HEAD, also to go on", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000], headStatus: 403 });
    await fails(run(), "unreachable", /closed after/);
    assert.deepEqual(await run(), done);
    assert.match(server.seen("GET")[1] ?? "", /bytes=\d+-/);
  }));

Deno.test("download() removes an archive with another checksum", () =>
  withRig(async ({ server, part, run }) => {
    server.files.set("/p", { bytes, crc32c: "AAAAAA==", sha256: undefined });
    await fails(run(), "refused", /crc32c is .{8}, announced was AAAAAA==; it was removed/);
    assert.equal(await sizeOf(part), undefined);
    server.files.set("/p", { bytes, sha256: "0".repeat(64), crc32c: undefined });
    await fails(run(), "refused", /sha256 is [0-9a-f]{64}, announced was 0{64}/);
    server.files.set("/p", { bytes });
    await fails(run({ announced: { sha256: "1".repeat(64) } }), "refused", /announced was 1{64}/);
    assert.equal(await sizeOf(part), undefined);
  }));

Deno.test("download() fetches anew, soon, when what was here before is spoilt", () =>
  withRig(async ({ server, part, run }) => {
    server.files.set("/p", { bytes, cutAfter: [100_000] });
    await fails(run(), "unreachable", /closed after/);
    const kept = await Deno.readFile(part);
    await Deno.writeFile(part, kept.fill(0, 1_000, 2_000));
    await fails(run(), "unreachable", /is not the one announced/);
    assert.equal(await sizeOf(part), undefined);
    assert.deepEqual(await run(), done);
  }));

for (
  const [what, file, why] of [
    ["has no checksum", { crc32c: undefined, sha256: undefined }, /names no checksum/],
    ["is no archive", { contentType: "text/html; charset=utf-8" }, /content type is "text\/html"/],
    ["is encoded", { headers: { "content-encoding": "br" } }, /content encoding "br"/],
    ["is missing", { status: 404 }, /\/p answered 404/],
    ["is not for us", { status: 403 }, /\/p answered 403/],
    ["is nothing", { bytes: new Uint8Array() }, /does not declare its length/],
  ] as const
) {
  Deno.test(`download() refuses an address that ${what}`, () =>
    withRig(async ({ server, part, run }) => {
      server.files.set("/p", { bytes, ...file });
      await fails(run(), "refused", why);
      assert.equal(await sizeOf(part), undefined);
    }));
}

Deno.test("download() takes a server's bad moment for one", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, status: 503 });
    await fails(run(), "unreachable", /answered 503/);
    await server.close();
    await fails(run(), "unreachable", /cannot be reached/);
  }));

Deno.test("download() starts over at once when a server lies about the rest", () =>
  withRig(async ({ server, part, run }) => {
    const lies: Partial<ServedFile>[] = [
      { rangeStatus: 416 },
      { contentRange: "bytes 5-299999/300000" },
      { contentRange: "bytes 0-299999/900000" },
      { contentRange: "items 1-2/3" },
    ];
    for (const [index, lie] of lies.entries()) {
      const path = `/${index}`;
      const url = `${server.origin}${path}`;
      let begun: BegunDownload | undefined;
      const onBegin = (now: BegunDownload) => void (begun = now);
      server.files.set(path, { bytes, cutAfter: [100_000] });
      await fails(run({ url, begun, onBegin }), "unreachable", /closed after/);
      server.files.set(path, { bytes, ...lie });
      assert.deepEqual(await run({ url, begun, onBegin }), { ...done }, JSON.stringify(lie));
      assert.deepEqual(await Deno.readFile(part), bytes);
      const gets = server.seen("GET").filter((get) => get.startsWith(path));
      assert.match(gets.join(), /^\/\d,\/\d bytes=\d+-,\/\d$/);
    }
  }));

Deno.test("download() without HEAD asks for the rest under the condition that it is the same", () =>
  withRig(async ({ server, part, run }) => {
    const short = { headFirst: false, needsChecksum: false };
    server.files.set("/p", { bytes, cutAfter: [100_000] });
    await fails(run(short), "unreachable", /closed after/);
    assert.deepEqual(await run(short), done);
    assert.equal(server.requests.length, 2);
    assert.match(String(server.requests[1]?.headers["if-range"]), /^"[0-9a-f]{16}"$/);
    assert.deepEqual(await run(short), done);
    assert.equal(server.requests.length, 2, "all of it is here");

    await Deno.remove(part);
    server.files.set("/p", { bytes, cutAfter: [100_000] });
    await fails(run({ ...short, begun: undefined }), "unreachable", /closed after/);
    const other = randomBytes(300_000);
    server.files.set("/p", { bytes: other });
    assert.equal((await run(short)).sha256, sha256Of(other));
    assert.deepEqual(await Deno.readFile(part), other);
  }));

Deno.test("download() takes no file of another size than the one known before", () =>
  withRig(async ({ server, part, run }) => {
    server.files.set("/p", { bytes });
    assert.deepEqual(await run({ size: 300_000 }), done);
    await fails(run({ size: 299_999 }), "refused", /has 300000 bytes, the package is 299999 bytes/);
    assert.equal(await sizeOf(part), undefined);
    server.files.set("/p", { bytes, contentLength: 200_000 });
    await fails(run({ begun: undefined, size: 300_000 }), "refused", /has 200000 bytes/);
    await fails(run({ begun: undefined }), "refused", /is not the one announced/);
    assert.equal(await sizeOf(part), undefined);
    const chunked = { headFirst: false, begun: undefined };
    server.files.set("/p", { bytes, chunked: true });
    await fails(run(chunked), "refused", /does not declare its length/);
    assert.deepEqual(await run({ ...chunked, size: 300_000 }), done);
    await fails(run({ ...chunked, size: 299_999 }), "refused", /more came than the 299999 bytes/);
    assert.equal(await sizeOf(part), undefined);
    await fails(run({ ...chunked, size: 300_001 }), "unreachable", /after 300000 of 300001 bytes/);
  }));

Deno.test("download() does not take its own slowness for a stall", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes });
    const clock = new FakeClock();
    const asked: number[] = [];
    const pace = async (count: number) => {
      asked.push(count);
      await clock.advance(61_000);
    };
    assert.deepEqual(await run({ clock, pace }), done);
    assert.equal(asked.reduce((sum, count) => sum + count), bytes.length);
  }));

Deno.test("download() gives credentials to the cloud's origin alone", () =>
  withRig(async ({ server, run }) => {
    const other = await FileServer.start();
    try {
      other.files.set("/elsewhere", { bytes });
      server.files.set("/p", { bytes, redirect: `${other.origin}/elsewhere?sign=hidden` });
      assert.deepEqual(await run(), done);
      for (const { headers } of server.requests) {
        assert.deepEqual([headers["part_id"], headers["secret"]], ["who", "s3cret"]);
      }
      assert.deepEqual(other.seen("GET"), ["/elsewhere"]);
      for (const { headers } of other.requests) {
        assert.doesNotMatch(JSON.stringify(headers), /s3cret|who|part_id|secret/);
      }
      const seen = server.requests.length;
      assert.deepEqual(await run({ url: `${other.origin}/elsewhere` }), done);
      assert.equal(server.requests.length, seen);
      assert.doesNotMatch(JSON.stringify(other.requests), /s3cret/);
    } finally {
      await other.close();
    }
  }));

Deno.test("download() signs in with an API key where the machine has one", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes });
    await run();
    const { key_id, key, part_id } = server.requests[0]?.headers ?? {};
    assert.deepEqual([key_id, key, part_id], ["who", "s3cret", undefined]);
  }, { apiKey: true }));

Deno.test("download() follows a few redirects and no circle", () =>
  withRig(async ({ server, run }) => {
    server.files.set("/p", { bytes, redirect: "/q" });
    server.files.set("/q", { bytes });
    assert.deepEqual(await run(), done);
    server.files.set("/q", { bytes, redirect: "/p" });
    await fails(run({ begun: undefined }), "refused", /more than 5 redirects/);
  }));

/** The addresses are never reached: what matters is whether and with what they are queried. */
Deno.test("download() sends nothing over plaintext to another computer", async () => {
  const asked: string[] = [];
  const secrets: (string | null)[] = [];
  const answers: typeof fetch = (input, init) => {
    asked.push(String(input));
    secrets.push(new Headers(init?.headers).get("secret"));
    const location = "http://store.example/p";
    return Promise.resolve(
      String(input).startsWith("https://cloud.example/")
        ? new Response(null, { status: 302, headers: { location } })
        : new Response(null, { status: 404 }),
    );
  };
  const never = new AbortController().signal;
  const to = (address: string, allowInsecure = false) =>
    requestsTo(address, { allowInsecure, fetch: answers });
  const https = to("https://cloud.example");
  await fails(https.send("GET", "http://cloud.example/p", {}, never), "refused", /is plaintext/);
  await fails(https.send("GET", "file:///etc/passwd", {}, never), "refused", /not an HTTP/);
  assert.deepEqual(asked, []);
  await fails(https.send("GET", "/p", {}, never), "refused", /plaintext/);
  const allowed = to("https://cloud.example", true);
  await fails(allowed.send("GET", "/p", {}, never), "refused", /leads from TLS to plaintext/);
  assert.deepEqual(asked, ["https://cloud.example/p", "https://cloud.example/p"]);
  const plain = to("http://cloud.example", true);
  await plain.send("GET", "http://cloud.example:81/p", {}, never);
  await plain.send("GET", "/p", {}, never);
  assert.deepEqual(secrets.slice(2), [null, "s3cret"]);
});

Deno.test("download() drops a connection on which nothing comes, and keeps what came", () =>
  withRig(async ({ server, part, told, run }) => {
    server.files.set("/p", { bytes, hangAfter: 65_536 });
    const clock = new FakeClock();
    const running = run({ clock });
    const ended = fails(running, "unreachable", /stalled: nothing came for 60 s/);
    await waitFor(() => told.progress.at(-1) === 65_536, { deadlineMs: 60_000 });
    await clock.advance(59_000);
    assert.equal(told.progress.at(-1), 65_536);
    await clock.advance(1_000);
    await ended;
    assert.equal(await sizeOf(part), 65_536);
    server.files.set("/p", { bytes });
    assert.deepEqual(await run(), done);
    assert.equal(clock.pendingTimers, 0);
  }));

Deno.test("download() ends an attempt that takes too long, however steady", () =>
  withRig(async ({ server, told, run }) => {
    server.files.set("/p", { bytes, hangAfter: 65_536 });
    const clock = new FakeClock();
    const limits = { stallMs: Infinity, totalMs: 1_800_000 };
    const ended = fails(run({ clock, limits }), "unreachable", /not done within 1800 s/);
    await waitFor(() => told.progress.at(-1) === 65_536, { deadlineMs: 60_000 });
    await clock.advance(1_800_000);
    await ended;
  }));

Deno.test("download() begins nothing that would fill the disk", () =>
  withRig(async ({ server, part, run }) => {
    server.files.set("/p", { bytes });
    const space = new DiskSpace(10_000_000, () => Promise.resolve(10_500_000));
    await fails(run({ space }), "no-room", /0\.6 MB are needed at .*, 10\.5 MB are free and 10\.0/);
    assert.equal(await sizeOf(part), undefined);
    const enough = new DiskSpace(10_000_000, () => Promise.resolve(10_600_000));
    assert.deepEqual(await run({ space: enough }), done);
  }));

Deno.test("download() ends when its signal aborts, and keeps what came", () =>
  withRig(async ({ server, part, told, run }) => {
    server.files.set("/p", { bytes, hangAfter: 65_536 });
    const stop = new AbortController();
    const ended = assert.rejects(run({ signal: stop.signal }), /the test ends it/);
    await waitFor(() => told.progress.at(-1) === 65_536, { deadlineMs: 60_000 });
    stop.abort(new Error("the test ends it"));
    await ended;
    assert.equal(await sizeOf(part), 65_536);
  }));

function requestsTo(
  address: string,
  options: { type?: CloudCredentials["type"]; allowInsecure?: boolean; fetch?: typeof fetch } = {},
): HttpRequests {
  const { type = "robot-secret", allowInsecure = false } = options;
  return new HttpRequests({
    what: "the package",
    base: address,
    credentialsFor: originCredentials(address, {
      type,
      entity: "who",
      payload: new Secret("s3cret"),
    }),
    objectionTo: (url) =>
      allowInsecure || isSecureAddress(url.href) ? undefined : `${shown(url)} is plaintext`,
    fetch: options.fetch ?? fetch,
  });
}

function resultOf(content: Uint8Array) {
  const sha256 = sha256Of(content);
  return { bytes: content.length, sha256, validator: `"${sha256.slice(0, 16)}"` };
}

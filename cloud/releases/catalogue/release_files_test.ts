import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createClient, type Transport } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { Channel, ReleaseService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrapFolder } from "../../local/bootstrap/bootstrap_testing.ts";
import type { BlobReader } from "../../storage/blobs/blob_store.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";
import { DownloadSlots } from "./download_slots.ts";
import type { KnownRelease } from "./known_release.ts";
import { releaseFiles } from "./release_files.ts";
import { addRelease, type ReleaseClient, script } from "./releases_testing.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };
const CONTENTS = script("x".repeat(700_000));
const SHA256 = createHash("sha256").update(CONTENTS).digest("hex");

interface Rig {
  readonly url: string;
  readonly client: ReleaseClient;
}

/** A cloud on a real port, and its releases over native gRPC. */
async function withCloud(work: (rig: Rig) => Promise<void>) {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-releases-" });
  const made = await bootstrapFolder(dir);
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 10_000_000,
  }, deps);
  const { url } = cloud;
  const plain = createGrpcTransport({ baseUrl: url });
  const { accessToken } = await createClient(AuthService, plain).authenticate({
    entity: made.api_key_id,
    credentials: { type: "api-key", payload: made.api_key },
  });
  plain.close();
  const transport: Transport & { close(): void } = createGrpcTransport({
    baseUrl: url,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${accessToken}`);
      return next(request);
    }],
  });
  try {
    await work({ url, client: createClient(ReleaseService, transport) });
  } finally {
    transport.close();
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
}

/** With the body read, as it otherwise stays open. */
async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: "manual", ...init });
  return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("GET of a release gives the file and its sums to everybody", () =>
  withCloud(async ({ client }) => {
    const release = await addRelease(client, "1.0.0", { contents: CONTENTS });
    const url = release?.files[0]?.url ?? "";
    const { response, bytes } = await ask(url);
    assert.equal(response.status, 200);
    assert.equal(Buffer.compare(bytes, CONTENTS), 0);
    assert.deepEqual(
      ["etag", "x-checksum-sha256", "content-length", "accept-ranges", "x-release-version"]
        .map((name) => response.headers.get(name)),
      [`"${SHA256}"`, SHA256, String(CONTENTS.length), "bytes", "1.0.0"],
    );
    assert.equal(response.headers.get("content-type"), "application/octet-stream");
    const head = await ask(url, { method: "HEAD" });
    assert.deepEqual([head.response.status, head.bytes.length], [200, 0]);
    assert.equal(head.response.headers.get("etag"), `"${SHA256}"`);
  }));

Deno.test("GET of a release goes on where a download was cut", () =>
  withCloud(async ({ client }) => {
    const release = await addRelease(client, "1.0.0", { contents: CONTENTS });
    const url = release?.files[0]?.url ?? "";
    const size = CONTENTS.length;
    const half = size >> 1;
    const tag = `"${SHA256}"`;
    const cases: [headers: Record<string, string>, status: number, start: number, end: number][] = [
      [{ range: `bytes=${half}-`, "if-range": tag }, 206, half, size],
      [{ range: `bytes=${half}-`, "if-range": '"another"' }, 200, 0, size],
      [{ range: "bytes=0-0" }, 206, 0, 1],
      [{ range: `bytes=${size}-` }, 416, 0, 0],
      [{ "if-none-match": tag }, 304, 0, 0],
      [{ "if-match": '"another"' }, 412, 0, 0],
    ];
    for (const [headers, status, start, end] of cases) {
      const { response, bytes } = await ask(url, { headers });
      assert.equal(response.status, status, JSON.stringify(headers));
      assert.equal(Buffer.compare(bytes, CONTENTS.subarray(start, end)), 0);
    }
  }));

Deno.test("GET of a release knows channels, sums, the signature and the key", () =>
  withCloud(async ({ url, client }) => {
    const place = `${url}/releases/machine-server`;
    const file = "linux/amd64/machine-server";
    const none = await ask(`${place}/stable/${file}`);
    assert.equal(none.response.status, 404);
    assert.equal((await ask(`${url}/releases/key.pem`)).response.status, 404);
    await addRelease(client, "1.0.0", { contents: CONTENTS });
    await addRelease(client, "1.1.0-dev.1", { channel: Channel.DEV });
    await addRelease(client, "1.2.0", { rollout: { percent: 50 } });
    for (const [channel, version] of [["stable", "1.0.0"], ["dev", "1.1.0-dev.1"]]) {
      const { response } = await ask(`${place}/${channel}/${file}`);
      assert.equal(response.status, 302);
      assert.equal(response.headers.get("location"), `${place}/${version}/${file}`);
    }
    const sums = await ask(`${place}/stable/${file}.sha256`, { redirect: "follow" });
    assert.equal(text(sums.bytes), `${SHA256}  machine-server\n`);

    const manifest = await ask(`${place}/1.0.0/${file}.manifest`);
    const signature = await ask(`${place}/1.0.0/${file}.sig`);
    const pem = text((await ask(`${url}/releases/key.pem`)).bytes);
    assert.match(
      text(manifest.bytes),
      new RegExp(`^size ${CONTENTS.length}\\nsha256 ${SHA256}$`, "m"),
    );
    const base64 = pem.replace(/-----[A-Z ]+-----|\s/g, "");
    const spki = Uint8Array.fromBase64(base64);
    const key = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
    assert.ok(await crypto.subtle.verify("Ed25519", key, signature.bytes, manifest.bytes));
  }));

Deno.test("GET of a release refuses what is not there, and what was withdrawn", () =>
  withCloud(async ({ url, client }) => {
    await addRelease(client, "1.0.0");
    await addRelease(client, "1.1.0");
    await client.withdrawRelease({ binary: "machine-server", version: "1.1.0" });
    const cases: [path: string, status: number][] = [
      ["machine-server/1.1.0/linux/amd64/machine-server", 410],
      ["machine-server/1.1.0/linux/amd64/machine-server.sha256", 410],
      ["machine-server/1.0.0/linux/amd64/machine-server", 200],
      ["machine-server/1.0.0/linux/amd64/machine-server.exe", 404],
      ["machine-server/1.0.0/linux/amd64/other", 404],
      ["machine-server/1.0.0/linux/arm64/machine-server", 404],
      ["machine-server/9.9.9/linux/amd64/machine-server", 404],
      ["machine-cloud/1.0.0/linux/amd64/machine-cloud", 404],
      ["machine-server/1.0.0/linux/machine-server", 404],
      ["machine-server/1.0.0/linux/amd64/machine-server/more", 404],
      ["machine-server/%2e%2e%2fcloud.key/linux/amd64/machine-server", 404],
      ["machine-server/%zz/linux/amd64/machine-server", 404],
      ["", 404],
    ];
    for (const [path, status] of cases) {
      const { response, bytes } = await ask(`${url}/releases/${path}`);
      assert.equal(response.status, status, path);
      if (status !== 200) assert.ok(JSON.parse(text(bytes)).error, path);
    }
  }));

Deno.test("releaseFiles() refuses an address that has too many downloads open, until one ends", async () => {
  const file = {
    ...{ id: "f", platform: "linux/amd64", size: 3, sha256: "00", signature: "", keyId: "" },
    addedAtMs: 0,
  };
  const release: KnownRelease = {
    ...{ id: "r", program: "machine-server", version: "1.0.0", channel: "stable", notes: "" },
    ...{ addedAtMs: 0, withdrawnAtMs: undefined, goesBack: false, rollout: undefined },
    files: [file],
  };
  const handle = releaseFiles({
    catalogue: { read: () => Promise.resolve({ releases: [release], keys: [] }) },
    blobs: { read: () => Promise.resolve(memoryBlob("abc")) },
    slots: new DownloadSlots(),
    clock: new FakeClock(),
    publicUrl: () => "http://localhost",
  });
  const download = (address: string) =>
    handle({
      path: ["machine-server", "1.0.0", "linux", "amd64", "machine-server"],
      peer: { address, port: 1, transport: "tcp", local: false },
      method: "GET",
      header: () => undefined,
    });
  // Nobody reads these, so that they do not end.
  const open = await Promise.all(Array.from({ length: 32 }, () => download("192.0.2.1")));
  assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
  const refused = await download("192.0.2.1");
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "10");
  assert.equal((await download("192.0.2.2")).status, 200);
  await open[0]?.body?.cancel();
  assert.equal(await open[1]?.text(), "abc");
  assert.deepEqual(
    [(await download("192.0.2.1")).status, (await download("192.0.2.1")).status],
    [200, 200],
  );
  assert.equal((await download("192.0.2.1")).status, 429);
});

function memoryBlob(text: string): BlobReader {
  let left = new TextEncoder().encode(text);
  return {
    read(into) {
      if (left.length === 0) return Promise.resolve(null);
      const written = Math.min(into.length, left.length);
      into.set(left.subarray(0, written));
      left = left.subarray(written);
      return Promise.resolve(written);
    },
    seek: (offset) => Promise.resolve(offset),
    readable: new Blob([text]).stream(),
    close: () => {},
    [Symbol.dispose]: () => {},
  };
}

Deno.test("DownloadSlots.take() counts by address and in all, and each end once", () => {
  const slots = new DownloadSlots({ perAddress: 2, total: 3 });
  const [a, b] = [slots.take("a"), slots.take("a")];
  assert.ok(a && b);
  assert.equal(slots.take("a"), undefined);
  assert.ok(slots.take("b"));
  assert.equal(slots.take("c"), undefined, "that is all");
  a.release();
  a.release();
  assert.ok(slots.take("c"));
  assert.equal(slots.take("a"), undefined);
  b.release();
  assert.ok(slots.take("a"));
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { request as httpRequest } from "node:http";
import { createHash } from "node:crypto";
import { createClient, type Transport } from "@connectrpc/connect";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../../local/bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";
import { createPackage, gzip } from "./packages_testing.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };
const CONTENTS = gzip("module", 700_000);
const SHA256 = createHash("sha256").update(CONTENTS).digest("hex");

interface Rig {
  readonly url: string;
  readonly dir: string;
  readonly made: BootstrapResult;
  readonly other: BootstrapResult;
  readonly transport: Transport;
  /** Without its signature. */
  readonly plain: string;
  readonly signed: string;
}

/** A cloud on a real port with one package; clients of it speak native gRPC. */
async function withPackage(work: (rig: Rig) => Promise<void>) {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-downloads-" });
  const made = await bootstrapFolder(dir);
  const other = await bootstrapFolder(dir, { organization: "Other" });
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 10_000_000,
  }, deps);
  const { url } = cloud;
  const token = await tokenOf(url, "api-key", made.api_key_id, made.api_key);
  const transport = createGrpcTransport({
    baseUrl: url,
    interceptors: [(next) => (request) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    }],
  });
  try {
    const client = createClient(PackageService, transport);
    await createPackage(client, made.org_id, "m", { contents: CONTENTS, chunk: 65_536 });
    const id = `${made.org_id}/m`;
    const { package: found } = await client.getPackage({ id, includeUrl: true });
    const signed = found?.url ?? "";
    const [plain = ""] = signed.split("?");
    await work({ url, dir, made, other, transport, plain, signed });
  } finally {
    transport.close();
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
}

async function tokenOf(url: string, type: string, entity: string, payload: string) {
  const transport = createGrpcTransport({ baseUrl: url });
  try {
    const client = createClient(AuthService, transport);
    return (await client.authenticate({ entity, credentials: { type, payload } })).accessToken;
  } finally {
    transport.close();
  }
}

/** Status and length of the body. */
async function ask(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
}

Deno.test("GET of a package gives the file with its sums to who signs in as machines do", () =>
  withPackage(async ({ url, made, plain, signed }) => {
    const partToken = await tokenOf(url, "robot-secret", made.part_id, made.part_secret);
    const ways: [name: string, url: string, headers: Record<string, string>][] = [
      ["API key", plain, { key_id: made.api_key_id, key: made.api_key }],
      ["part", plain, { part_id: made.part_id, secret: made.part_secret }],
      ["token", plain, { authorization: `Bearer ${partToken}` }],
      ["link", signed, {}],
    ];
    for (const [name, address, headers] of ways) {
      const { response, bytes } = await ask(address, headers);
      assert.equal(response.status, 200, name);
      assert.deepEqual(Buffer.compare(bytes, CONTENTS), 0, name);
      assert.equal(response.headers.get("content-type"), "application/x-gzip");
      assert.equal(response.headers.get("content-length"), String(CONTENTS.length));
      assert.match(response.headers.get("x-goog-hash") ?? "", /^crc32c=[A-Za-z0-9+/]{6}==$/);
      assert.equal(response.headers.get("x-checksum-sha256"), SHA256);
      assert.equal(response.headers.get("etag"), `"${SHA256}"`);
      assert.equal(response.headers.get("accept-ranges"), "bytes");
      assert.equal(response.headers.get("content-encoding"), null);
    }
  }));

Deno.test("HEAD of a package tells what GET would, without the bytes", () =>
  withPackage(async ({ signed }) => {
    const { promise, resolve, reject } = Promise.withResolvers<[number, string, number]>();
    let length = 0;
    httpRequest(signed, { method: "HEAD", headers: { range: "bytes=1-2" } }, (answer) => {
      answer.on("data", (bytes: Uint8Array) => length += bytes.length);
      answer.on(
        "end",
        () => resolve([answer.statusCode ?? 0, String(answer.headers["content-length"]), length]),
      );
    }).on("error", reject).end();
    assert.deepEqual(await promise, [200, String(CONTENTS.length), 0]);
    const response = await fetch(signed, { method: "HEAD" });
    assert.equal(response.headers.get("content-type"), "application/x-gzip");
    assert.match(response.headers.get("x-goog-hash") ?? "", /^crc32c=/);
  }));

Deno.test("GET of a package goes on where a download was cut", () =>
  withPackage(async ({ signed }) => {
    const half = CONTENTS.length >> 1;
    const size = CONTENTS.length;
    const tag = `"${SHA256}"`;
    const rest = await ask(signed, { range: `bytes=${half}-`, "if-range": tag });
    assert.equal(rest.response.status, 206);
    assert.equal(rest.response.headers.get("content-range"), `bytes ${half}-${size - 1}/${size}`);
    assert.equal(Buffer.compare(rest.bytes, CONTENTS.subarray(half)), 0);
    const cases: [headers: Record<string, string>, status: number, length: number][] = [
      [{ range: "bytes=0-0" }, 206, 1],
      [{ range: "bytes=-3" }, 206, 3],
      [{ range: `bytes=${half}-`, "if-range": '"another"' }, 200, size],
      [{ range: `bytes=${size}-` }, 416, 0],
      [{ range: "bytes=0-1,4-5" }, 200, size],
      [{ "if-none-match": tag }, 304, 0],
      [{ "if-match": '"another"' }, 412, 0],
    ];
    for (const [headers, status, length] of cases) {
      const { response, bytes } = await ask(signed, headers);
      assert.equal(response.status, status, JSON.stringify(headers));
      assert.equal(bytes.length, length, JSON.stringify(headers));
      if (status === 416) assert.equal(response.headers.get("content-range"), `bytes */${size}`);
    }
  }));

Deno.test("GET of a package refuses who may not see it, and guesses at last", () =>
  withPackage(async ({ made, other, plain, signed }) => {
    const key = { key_id: made.api_key_id, key: made.api_key };
    const cases: [url: string, headers: Record<string, string>, status: number][] = [
      [plain, {}, 401],
      [plain, { ...key, key: "wrong" }, 401],
      [plain, { part_id: made.part_id, secret: "wrong" }, 401],
      [plain, { authorization: "Bearer wrong" }, 401],
      [plain, { key_id: other.api_key_id, key: other.api_key }, 404],
      [signed.replace(/expires=\d+/, "expires=1"), {}, 401],
      [signed.replace(/signature=./, "signature="), {}, 401],
      [signed.replace(/packages\/[^/]+/, `packages/${crypto.randomUUID()}`), key, 404],
    ];
    for (const [url, headers, status] of cases) {
      const { response, bytes } = await ask(url, headers);
      assert.equal(response.status, status, `${url} ${JSON.stringify(headers)}`);
      assert.ok(JSON.parse(new TextDecoder().decode(bytes)).error);
    }
    const statuses: number[] = [];
    for (let at = 0; at < 25; at++) {
      statuses.push((await ask(plain, { ...key, key: `wrong ${at}` })).response.status);
    }
    assert.equal(statuses.at(-1), 429);
    const theirs = { key_id: other.api_key_id, key: other.api_key };
    assert.equal((await ask(plain, theirs)).response.status, 404, "others are not held up");
    assert.equal((await ask(signed)).response.status, 200);
  }));

Deno.test("CreatePackage() over gRPC leaves nothing when its connection breaks", () =>
  withPackage(async ({ dir, made, transport }) => {
    const incoming = () => [...Deno.readDirSync(`${dir}/blobs/incoming`)].length;
    const client = createClient(PackageService, transport);
    const cut = client.createPackage(async function* () {
      const info = { organizationId: made.org_id, name: "cut", version: "1.0.0", type: 3 };
      yield { package: { case: "info" as const, value: info } };
      yield { package: { case: "contents" as const, value: CONTENTS } };
      await waitFor(() => incoming() === 1, { deadlineMs: 60_000, what: "the upload" });
      // Ends the connection with the upload half done.
      (transport as Transport & { close(): void }).close();
      throw new Error("the disk of the sender failed");
    }());
    await assert.rejects(cut);
    await waitFor(() => incoming() === 0, { deadlineMs: 60_000, what: "an empty folder" });
    assert.equal([...Deno.readDirSync(`${dir}/blobs`)].filter((entry) => entry.isFile).length, 1);
  }));

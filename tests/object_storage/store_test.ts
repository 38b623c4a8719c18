/** The object storage against a real server for the protocol of S3. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { openObjectStorage } from "../../cloud/storage/blobs/open_object_storage.ts";
import { S3BlobStore } from "../../cloud/storage/blobs/s3_blob_store.ts";
import { type S3Answer, S3Client } from "../../cloud/storage/blobs/s3_client.ts";
import { S3Reader } from "../../cloud/storage/blobs/s3_reader.ts";
import type { S3Settings } from "../../cloud/storage/blobs/s3_settings.ts";
import {
  BlobGoneError,
  BlobStorageError,
  BlobTooLargeError,
} from "../../cloud/storage/blobs/blob_store.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { S3Server } from "./s3_server.ts";

const MIB = 1024 * 1024;
const HOUR_MS = 60 * 60_000;
const MOST = 100 * MIB;

async function open(settings: S3Settings, ownId = "one"): Promise<S3BlobStore> {
  const log = memoryLogger("machine-cloud");
  const stores = await openObjectStorage({ settings, ownId, clock: systemClock, log });
  return stores("data-files");
}

/** Bytes that differ everywhere, in pieces of 64 KiB and some. */
async function* pieces(bytes: number, error?: Error): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes;) {
    const piece = new Uint8Array(Math.min(70_000, bytes - at)).map((_, n) => (at + n) * 31 >> 3);
    at += piece.length;
    yield await Promise.resolve(piece);
  }
  if (error) throw error;
}

async function whole(bytes: number): Promise<Uint8Array> {
  return new Uint8Array(await new Blob(await Array.fromAsync(pieces(bytes))).arrayBuffer());
}

/** What is left in the bucket: objects and uploads in parts. */
async function left(server: S3Server): Promise<{ objects: string[]; uploads: string[] }> {
  const client = new S3Client(server.settings(), systemClock);
  const keys = async (query: Record<string, string>, pattern: RegExp) => {
    const { body } = await client.send({ method: "GET", key: "", query });
    return [...new TextDecoder().decode(body).matchAll(pattern)].map((match) => match[1] ?? "");
  };
  return {
    objects: await keys({ "list-type": "2", prefix: "site/data-files/" }, /<Key>([^<]*)</g),
    uploads: await keys({ uploads: "" }, /<Key>([^<]*)</g),
  };
}

Deno.test("S3BlobStore stores, reads in spans and removes small and large blobs", async (t) => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  const sizes = { "none": 0, "small": 3_000, "one part": 5 * MIB, "three parts": 12 * MIB + 7 };
  for (const [name, size] of Object.entries(sizes)) {
    await t.step(name, async () => {
      const id = crypto.randomUUID();
      await server.requests();
      const blob = await store.receive(id, pieces(size), MOST);
      const asked = (await server.requests()).filter((request) => request.startsWith("PUT"));
      const expected = await whole(size);
      assert.equal(blob.size, size);
      assert.equal(blob.sha256, createHash("sha256").update(expected).digest("hex"));
      assert.equal(asked.filter((it) => it.includes("partNumber")).length, size > 5 * MIB ? 3 : 0);
      using reader = await store.read(id);
      assert.ok(reader);
      const got = new Uint8Array(await new Response(reader.readable).arrayBuffer());
      assert.deepEqual(createHash("sha256").update(got).digest("hex"), blob.sha256);
      if (size > 0) {
        using other = await store.read(id);
        await other?.seek(size - 5, Deno.SeekMode.Start);
        const tail = new Uint8Array(10);
        assert.equal(await other?.read(tail), 5);
        assert.deepEqual(tail.subarray(0, 5), expected.subarray(-5));
        assert.equal(await other?.read(tail), null);
      }
      await store.remove(id);
      assert.equal(await store.read(id), undefined);
    });
  }
  assert.deepEqual(await left(server), { objects: [], uploads: [] });
});

Deno.test("S3BlobStore.addressOf() opens one blob, without a key, for a time", async () => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  const [id, other] = [crypto.randomUUID(), crypto.randomUUID()];
  for (const each of [id, other]) await store.receive(each, pieces(100), MOST);
  const address = await store.addressOf(id, 60);
  const response = await fetch(address);
  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), await whole(100));
  const refused = async (url: string, init?: RequestInit) => {
    const response = await fetch(url, init);
    await response.body?.cancel();
    assert.equal(response.status, 403, url);
  };
  await refused(address.replace(id, other));
  await refused(address.replace("Expires=60", "Expires=61"));
  await refused(address, { method: "PUT", body: "x" });
  await refused(address, { method: "DELETE" });
  await store.remove(id);
  assert.equal((await fetch(address)).status, 404);
});

Deno.test("S3BlobStore.receive() leaves nothing of what is cut or too large", async () => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  for (const size of [3_000, 11 * MIB]) {
    const receive = (contents: AsyncIterable<Uint8Array>, limit: number) =>
      store.receive(crypto.randomUUID(), contents, limit);
    await assert.rejects(receive(pieces(size), size - 1), BlobTooLargeError);
    await assert.rejects(receive(pieces(size, new Error("cut")), MOST), /^Error: cut/);
  }
  assert.deepEqual(await left(server), { objects: [], uploads: [] });
});

Deno.test("an object that is removed while it is read is gone, and its storage is not away", async () => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  const id = crypto.randomUUID();
  await store.receive(id, pieces(6 * MIB), MOST);
  using reader = await store.read(id);
  await store.remove(id);
  const rest = async () => {
    while (await reader?.read(new Uint8Array(MIB)) !== null);
  };
  await assert.rejects(rest(), BlobGoneError);
});

Deno.test("S3BlobStore goes on when the storage is overloaded for a moment", async () => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  await server.setFaults([
    { method: "PUT", contains: "partNumber=2", times: 3, status: 503, code: "SlowDown" },
    { method: "POST", contains: "uploads=", times: 1, status: 500, code: "InternalError" },
    { method: "GET", contains: "data-files", times: 2, status: 503, code: "ServiceUnavailable" },
  ]);
  const id = crypto.randomUUID();
  const blob = await store.receive(id, pieces(11 * MIB), MOST);
  using reader = await store.read(id);
  const got = new Uint8Array(await new Response(reader?.readable).arrayBuffer());
  assert.equal(createHash("sha256").update(got).digest("hex"), blob.sha256);
});

Deno.test("S3BlobStore.receive() stores what it completed though the answer was lost", async () => {
  await using server = await S3Server.start();
  const store = await open(server.settings());
  const id = crypto.randomUUID();
  // The first attempt is done and its answer replaced; the second finds no upload any more.
  await server.setFaults([{
    method: "POST after",
    contains: "uploadId=",
    times: 1,
    status: 500,
  }]);
  const { size } = await store.receive(id, pieces(6 * MIB), MOST);
  using reader = await store.read(id);
  assert.equal((reader as S3Reader).size, size);
});

Deno.test("S3BlobStore.receive() fails when the server dies in an upload, and the next one works", async () => {
  const server = await S3Server.start();
  const settings = server.settings();
  const store = await open(settings);
  await server.setFaults([{ method: "PUT", contains: "partNumber=2", times: 1, status: 0 }]);
  const cut = store.receive(crypto.randomUUID(), pieces(11 * MIB), MOST);
  await assert.rejects(cut, (error) => {
    assert.ok(error instanceof BlobStorageError);
    assert.match(error.message, /^the object storage s3:\/\/machines\/site\/ does not answer/);
    return true;
  });
  await server[Symbol.asyncDispose]();
  await using again = await S3Server.start(server.port);
  Object.assign(settings, again.settings());
  const { size } = await store.receive(crypto.randomUUID(), pieces(11 * MIB), MOST);
  assert.equal(size, 11 * MIB);
});

Deno.test("openObjectStorage() says what is wrong with key, secret and bucket", async () => {
  await using server = await S3Server.start();
  const settings = server.settings();
  const secretAccessKey = new Secret("wrong-secret-that-nobody-sees");
  const cases: [S3Settings, RegExp][] = [
    [{ ...settings, accessKeyId: "AKIANOBODY" }, /refuses GET .*Check AWS_ACCESS_KEY_ID/],
    [{ ...settings, secretAccessKey }, /refuses GET .*SignatureDoesNotMatch.*Check AWS_ACCESS/],
    [
      { ...settings, bucket: "nowhere", baseUrl: `${server.url}/nowhere/` },
      /s3:\/\/nowhere\/site\/ refuses .*NoSuchBucket.*Make the bucket/,
    ],
  ];
  for (const [wrong, expected] of cases) {
    await assert.rejects(open(wrong), (error) => {
      assert.ok(error instanceof BlobStorageError);
      assert.match(error.message, expected);
      assert.doesNotMatch(Deno.inspect(error), /nobody-sees/);
      return true;
    });
  }
});

Deno.test("openObjectStorage() refuses a place where another cloud keeps its files", async () => {
  await using server = await S3Server.start();
  await open(server.settings(), "one");
  await open(server.settings(), "one");
  await assert.rejects(open(server.settings(), "two"), /holds the files of another cloud/);
  await open(server.settings({ prefix: "other/" }), "two");
});

Deno.test("openObjectStorage() starts without the storage and goes on when it is there", async () => {
  const first = await S3Server.start();
  const { port } = first;
  await first[Symbol.asyncDispose]();
  const log = memoryLogger("machine-cloud");
  const settings = first.settings();
  const stores = await openObjectStorage({ settings, ownId: "one", clock: systemClock, log });
  assert.match(log.text(), /unavailable; files are refused/);
  await using server = await S3Server.start(port);
  Object.assign(settings, server.settings());
  const id = crypto.randomUUID();
  await stores("data-files").receive(id, pieces(10), MOST);
  assert.deepEqual((await left(server)).objects, [`site/data-files/${id}`]);
});

Deno.test("S3BlobStore.sweep() removes what is old and has no row, from all pages", async () => {
  await using server = await S3Server.start();
  const client = new S3Client(server.settings(), systemClock);
  const store = new S3BlobStore(client, "data-files", () => Promise.resolve(), 2);
  const ids = Array.from({ length: 5 }, () => crypto.randomUUID());
  for (const id of ids) await store.receive(id, pieces(10), MOST);
  await client.send({ method: "PUT", key: "data-files/notes.txt" });
  await client.send({ method: "PUT", key: `packages/${ids[0]}` });
  const cut = `data-files/${crypto.randomUUID()}`;
  await client.send({ method: "POST", key: cut, query: { uploads: "" } });
  const isKnown = (id: string) => Promise.resolve(id === ids[0]);

  // Uploads in parts have a fixed, old age at this server: only objects are identified by theirs.
  assert.equal(await store.sweep(isKnown, new Date()), 1);
  assert.equal((await left(server)).objects.length, 6);
  assert.equal(await store.sweep(isKnown, new Date(Date.now() + 2 * HOUR_MS)), 4);
  assert.deepEqual(await left(server), {
    objects: [`site/data-files/${ids[0]}`, "site/data-files/notes.txt"].sort(),
    uploads: [],
  });
  const asked = (await server.requests()).filter((request) => request.includes("continuation"));
  assert.equal(asked.length, 4);
});

Deno.test("S3BlobStore.sweep() goes by the rows where the storage's list is late", async () => {
  await using server = await S3Server.start();
  const client = new LateClient(server.settings(), systemClock);
  const store = new S3BlobStore(client, "data-files", () => Promise.resolve());
  const [kept, orphan, removed, later] = [1, 2, 3, 4].map(() => crypto.randomUUID());
  for (const id of [kept!, orphan!, removed!]) await store.receive(id, pieces(10), MOST);
  await client.stopLists(client.keyOf("data-files/"));
  await store.remove(removed!);
  await store.receive(later!, pieces(10), MOST);
  const isKnown = (id: string) => Promise.resolve(id === kept || id === later);
  await store.sweep(isKnown, new Date(Date.now() + 2 * HOUR_MS));
  const expected = [kept, later].map((id) => `site/data-files/${id}`).sort();
  assert.deepEqual((await left(server)).objects, expected);
});

/** Lists what there was: objects that are gone, and none that came since. */
class LateClient extends S3Client {
  #earlier: S3Answer | undefined;

  async stopLists(prefix: string): Promise<void> {
    this.#earlier = await super.send({
      ...{ method: "GET", key: "", query: { "list-type": "2", prefix } },
    });
  }

  override async send(...request: Parameters<S3Client["send"]>): Promise<S3Answer> {
    const isList = request[0].query?.["list-type"] !== undefined;
    return isList && this.#earlier || await super.send(...request);
  }
}

import assert from "node:assert/strict";
import { constants, createPublicKey, publicEncrypt } from "node:crypto";
import { Buffer } from "node:buffer";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { DelayedCommit } from "../delayed_commit.ts";
import { FakeProvisioning, visibleNetwork } from "../fake_provisioning.ts";
import { serviceUuid, uuidOf } from "./identifiers.ts";
import { LongValues } from "./long_values.ts";
import { PairingLock } from "./pairing_agent.ts";
import { errorList, networkList, statusByte, textBytes } from "./public_values.ts";
import { SealedValues, SealError } from "./sealed_values.ts";
import { ValueError, WrittenValues } from "./written_values.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("uuidOf() gives version 5 UUIDs of the published namespace", () => {
  // By Python's uuid.uuid5().
  assert.equal(uuidOf("ssid"), "37a720ee-86e5-55a8-b876-d200fb7e4f72");
  assert.equal(serviceUuid("viam"), "51d984c2-43bd-5228-a3ac-a3eca992e8b3");
  assert.equal(serviceUuid("machine"), "7bb17425-ce8f-5c0b-86ad-2470906e5604");
});

Deno.test("networkList() and errorList() hold what fits into 512 bytes, whole", () => {
  const list = networkList([
    visibleNetwork("a", { signal: 250, security: "open" }),
    visibleNetwork(Uint8Array.of(0x62, 0), {}),
    visibleNetwork("é", { signal: 7.6 }),
  ]);
  assert.deepEqual([...list], [100, 0x61, 0, 0x88, 0xc3, 0xa9, 0]);
  const many = networkList(Array.from({ length: 60 }, () => visibleNetwork("x".repeat(32))));
  assert.equal(many.length, 15 * 34);
  assert.equal(errorList(["x".repeat(300), "y".repeat(300)]).length, 301);
  assert.deepEqual([...errorList(["a\0b"])], [0x61, 0x20, 0x62, 0]);
  assert.deepEqual([...statusByte({ hasCredentials: true, isOnline: false })], [1]);
  assert.equal(textBytes("é".repeat(300)).length, 512);
  assert.equal(textBytes("é".repeat(3), 3).length, 2);
});

Deno.test("SealedValues takes passwords with a colon, and so many values and no more", async () => {
  const sealed = await SealedValues.begin("pass:word", new FakeClock());
  const key = createPublicKey({
    key: Buffer.from(sealed.publicKey),
    format: "der",
    type: "spki",
  });
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const seal = (text: string, oaepHash = "sha256") =>
    publicEncrypt({ key, padding, oaepHash }, Buffer.from(text));
  assert.deepEqual(await sealed.open(seal("pass:word:a:b"), "d"), bytes("a:b"));
  const isWrong = (error: unknown) => error instanceof SealError && error.kind === "password";
  for (const text of ["pass:a", "pass:wordx", "", "pass:word", "PASS:WORD:a"]) {
    await assert.rejects(sealed.open(seal(text), text), isWrong);
  }
  await assert.rejects(sealed.open(seal("pass:word:a", "sha1"), "e"), isWrong);
  const twice = seal("pass:word:x");
  const both = await Promise.allSettled([sealed.open(twice, "f"), sealed.open(twice, "f")]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  for (let n = 0; n < 998; n++) await sealed.open(seal("pass:word:x"), "f");
  await assert.rejects(sealed.open(seal("pass:word:x"), "f"), /too many values in this session/);
});

Deno.test("invented addresses of devices give no more guesses than all together have", async () => {
  const clock = new FakeClock();
  const sealed = await SealedValues.begin("password", clock);
  const kinds: string[] = [];
  for (let n = 0; n < 62; n++) {
    try {
      await sealed.open(new Uint8Array(256).fill(n), `device ${n}`);
    } catch (error) {
      assert.ok(error instanceof SealError);
      kinds.push(error.kind);
    }
  }
  assert.equal(kinds.filter((kind) => kind === "password").length, 60);
  assert.equal(kinds.at(-1), "too-many");
});

Deno.test("WrittenValues keeps the values of eight devices, and refuses odd bytes", () => {
  const port = new FakeProvisioning();
  const commit = new DelayedCommit(port, new FakeClock(), memoryLogger());
  const written = new WrittenValues({ port, commit, onUnlock: () => undefined });
  for (let n = 0; n < 9; n++) written.write("ssid", bytes(`net ${n}`), `device ${n}`);
  written.write("exit_provisioning", bytes(""), "device 0");
  assert.equal(port.network, undefined);
  written.write("exit_provisioning", bytes(""), "device 8");
  assert.deepEqual(port.network, { ssid: bytes("net 8"), psk: "", isHidden: true });
  assert.throws(() => written.write("psk", Uint8Array.of(0xff), "d"), ValueError);
  assert.throws(() => written.write("psk", bytes("a\nb"), "d"), ValueError);
});

Deno.test("LongValues puts pieces together only where they meet", () => {
  const long = new LongValues();
  assert.deepEqual(long.written("k", 0, bytes("ab")), bytes("ab"));
  assert.deepEqual(long.written("k", 2, bytes("c")), bytes("abc"));
  assert.equal(long.written("k", 2, bytes("c")), "gap");
  assert.equal(long.written("other", 2, bytes("c")), "gap");
  assert.equal(long.written("k", 0, new Uint8Array(257)), "too-long");
  let value = "first";
  assert.deepEqual(long.reading("r", 0, () => bytes(value)), bytes("first"));
  value = "second";
  assert.deepEqual(long.reading("r", 3, () => bytes(value)), bytes("first"));
  assert.deepEqual(long.reading("r", 0, () => bytes(value)), bytes("second"));
});

Deno.test("PairingLock lets one device in, for five minutes, whatever the wall clock says", async () => {
  const clock = new FakeClock();
  const lock = new PairingLock(false, clock);
  assert.equal(lock.use(), false);
  lock.set(true);
  clock.setNow("2020-01-01T00:00:00Z");
  assert.deepEqual([lock.use(), lock.use()], [true, false]);
  lock.set(true);
  await clock.advance(5 * 60_000 + 1);
  assert.equal(lock.use(), false);
  assert.equal(new PairingLock(true, clock).use(), true);
});

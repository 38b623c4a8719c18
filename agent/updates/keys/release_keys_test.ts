import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import {
  type ReleaseKey,
  ReleaseKeySchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import {
  releaseKeyId,
  signRelease,
  signReleaseKey,
} from "../../../shared/transfer/releases/manifest.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AgentState } from "../../state/agent_state.ts";
import type { Target } from "../updater/target.ts";
import { ReleaseKeys } from "./release_keys.ts";

interface Signer {
  readonly id: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly privateKey: CryptoKey;
}

async function newSigner(): Promise<Signer> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { id: await releaseKeyId(publicKey), publicKey, privateKey: pair.privateKey };
}

/** As the cloud names it, vouched for by another key if there is one. */
async function named({ id, publicKey }: Signer, by?: Signer): Promise<ReleaseKey> {
  return create(ReleaseKeySchema, {
    id,
    publicKey,
    ...(by ? { signedBy: by.id, signature: await signReleaseKey(by.privateKey, publicKey) } : {}),
  });
}

const SHA = new Uint8Array(32).fill(7);

async function signedTarget(by: Signer, change: Partial<Target> = {}): Promise<Target> {
  const manifest = {
    binary: "machine-server",
    version: "1.2.3",
    platform: "linux/amd64",
    size: 10,
    sha256: SHA.toHex(),
  };
  return {
    version: "1.2.3",
    url: "https://x/y",
    sha256: SHA.toHex(),
    size: 10,
    platform: "linux/amd64",
    keyId: by.id,
    signature: (await signRelease(by.privateKey, manifest)).toHex(),
    ...change,
  };
}

function rig() {
  const state = AgentState.open(":memory:");
  const log = memoryLogger();
  const clock = new FakeClock();
  const options = { db: state.database, clock, log };
  const open = (fromDefaults: string[] = []) => new ReleaseKeys({ ...options, fromDefaults });
  return { open, options, log, [Symbol.dispose]: () => state.close() };
}

Deno.test("ReleaseKeys trusts the first keys of the cloud, over restarts, and no others", async () => {
  using at = rig();
  const [first, stranger] = [await newSigner(), await newSigner()];
  await at.open().learn([await named(first)]);
  const keys = at.open();
  await keys.learn([await named(first), await named(stranger)]);
  await keys.learn([await named(first), await named(stranger)]);
  assert.equal(await keys.problemOf("machine-server", await signedTarget(first)), undefined);
  assert.match(
    await keys.problemOf("machine-server", await signedTarget(stranger)) ?? "",
    /does not trust/,
  );
  assert.equal(at.log.messages("error").length, 1, "told once");
  assert.match(at.log.text(), /release_keys/);
});

Deno.test("ReleaseKeys follows a chain of keys that vouch for one another", async () => {
  using at = rig();
  const [a, b, c] = [await newSigner(), await newSigner(), await newSigner()];
  const keys = at.open();
  await keys.learn([await named(a)]);
  // The newest first: the order must not matter.
  await keys.learn([await named(c, b), await named(b, a), await named(a)]);
  assert.equal(await keys.problemOf("machine-server", await signedTarget(c)), undefined);
});

Deno.test("ReleaseKeys takes no key whose voucher is false or misnamed", async () => {
  using at = rig();
  const [a, b] = [await newSigner(), await newSigner()];
  const keys = at.open();
  await keys.learn([await named(a)]);
  const vouched = await named(b, a);
  const forged = [
    { ...vouched, signature: new Uint8Array(64) },
    { ...vouched, signature: await signReleaseKey(b.privateKey, b.publicKey) },
    { ...await named(b, b), signedBy: a.id },
    { ...await named(b), id: a.id },
    { ...vouched, publicKey: new Uint8Array(31) },
  ];
  for (const key of forged) await keys.learn([key]);
  assert.match(
    await keys.problemOf("machine-server", await signedTarget(b)) ?? "",
    /does not trust/,
  );
  assert.match(
    await keys.problemOf("machine-server", await signedTarget(b, { keyId: a.id })) ?? "",
    /signature of machine-server 1\.2\.3 is wrong/,
  );
});

Deno.test("ReleaseKeys of the defaults file count in place of the cloud's first ones", async () => {
  using at = rig();
  const [own, fromCloud, next] = [await newSigner(), await newSigner(), await newSigner()];
  await at.open().learn([await named(fromCloud)]);
  const keys = at.open([own.publicKey.toHex()]);
  await keys.learn([await named(fromCloud), await named(next, own)]);
  assert.equal(await keys.problemOf("machine-server", await signedTarget(own)), undefined);
  assert.equal(await keys.problemOf("machine-server", await signedTarget(next)), undefined);
  assert.match(
    await keys.problemOf("machine-server", await signedTarget(fromCloud)) ?? "",
    /does not trust/,
    "also when it was learned before",
  );
  assert.equal(
    await at.open([own.publicKey.toHex()]).problemOf("machine-server", await signedTarget(next)),
    undefined,
    "what the file's key vouched for is kept",
  );
});

Deno.test("ReleaseKeys problemOf() refuses a target whose facts are not the signed ones", async () => {
  using at = rig();
  const signer = await newSigner();
  const keys = at.open();
  await keys.learn([await named(signer)]);
  const changed: Partial<Target>[] = [
    { version: "1.2.4" },
    { platform: "linux/arm64" },
    { size: 11 },
    { sha256: "00".repeat(32) },
    { sha256: "" },
  ];
  for (const change of changed) {
    const target = await signedTarget(signer, change);
    assert.match(await keys.problemOf("machine-server", target) ?? "", /is wrong/);
  }
  const target = await signedTarget(signer);
  assert.match(await keys.problemOf("machine-agent", target) ?? "", /is wrong/);
});

const unsigned: Target = { version: "1.2.3", url: "https://x/y", sha256: "" };
const address: Target = { version: "customURL", url: "file:///x", sha256: "" };

Deno.test("ReleaseKeys problemOf() wants a signature except where there is none to be had", async () => {
  using at = rig();
  const keys = at.open();
  assert.equal(await keys.problemOf("machine-server", unsigned), undefined, "no key is known");
  await keys.learn([await named(await newSigner())]);
  assert.match(await keys.problemOf("machine-server", unsigned) ?? "", /is not signed/);
  assert.equal(await keys.problemOf("machine-server", address), undefined, "the operator's word");
  assert.equal(keys.arePinned, false);
});

Deno.test("ReleaseKeys problemOf() lets nothing unsigned pass with keys of the defaults file", async () => {
  using at = rig();
  const own = await newSigner();
  const keys = at.open([own.publicKey.toHex()]);
  assert.equal(keys.arePinned, true);
  const hashed = { ...address, sha256: SHA.toHex() };
  for (const target of [unsigned, address, hashed, { ...address, version: "" }]) {
    assert.match(
      await keys.problemOf("machine-server", target) ?? "",
      /not signed, and the defaults file has release_keys/,
    );
  }
  assert.equal(await keys.problemOf("machine-server", await signedTarget(own)), undefined);
});

Deno.test("ReleaseKeys trusts nobody while the defaults file cannot be read", async () => {
  using at = rig();
  const [own, stranger] = [await newSigner(), await newSigner()];
  await at.open().learn([await named(own)]);
  const keys = new ReleaseKeys({ ...at.options, fromDefaults: undefined });
  await keys.learn([await named(stranger)]);
  assert.equal(keys.arePinned, true);
  for (const target of [unsigned, address]) {
    assert.match(await keys.problemOf("machine-server", target) ?? "", /until that is fixed/);
  }
  for (const signer of [own, stranger]) {
    assert.match(
      await keys.problemOf("machine-server", await signedTarget(signer)) ?? "",
      /does not trust/,
    );
  }
});

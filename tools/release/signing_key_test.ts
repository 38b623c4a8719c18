import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { readMinisignPublicKey, verifyMinisign } from "../../shared/transfer/releases/minisign.ts";
import { scryptCost, SigningKey } from "./signing_key.ts";
import { secretKeyFile } from "./testing.ts";

const FILE = new TextEncoder().encode("a file");

Deno.test("SigningKey.minisign() signs so that verifyMinisign() takes exactly this file", () => {
  const key = SigningKey.read(secretKeyFile(), undefined);
  const publicKey = readMinisignPublicKey(key.publicFile);
  const signature = key.minisign(FILE, "version:1.0.0");
  assert.equal(verifyMinisign(publicKey, FILE, signature), "version:1.0.0");
  const other = new TextEncoder().encode("a fiIe");
  assert.throws(() => verifyMinisign(publicKey, other, signature), /was changed/);
  const comment = signature.replace("version:1.0.0", "version:9.0.0");
  assert.throws(() => verifyMinisign(publicKey, FILE, comment), /trusted comment.*was changed/);
  for (const cut of ["", "x", signature.split("\n").slice(0, 2).join("\n")]) {
    assert.throws(() => verifyMinisign(publicKey, FILE, cut), /not in minisign's format/);
  }
});

Deno.test("verifyMinisign() refuses another key, also one with the same id", () => {
  const signature = SigningKey.read(secretKeyFile(), undefined).minisign(FILE, "x");
  const sameId = readMinisignPublicKey(SigningKey.read(secretKeyFile(), undefined).publicFile);
  assert.throws(() => verifyMinisign(sameId, FILE, signature), /was changed/);
  assert.throws(
    () => verifyMinisign({ ...sameId, id: "00".repeat(8) }, FILE, signature),
    /is of key 6469736574796238, and not of 0000000000000000/,
  );
});

Deno.test("SigningKey.read() refuses what is no key of minisign, and a damaged one", () => {
  assert.throws(() => SigningKey.read("", undefined), /no secret key.*minisign -G/);
  const [comment, line = ""] = secretKeyFile().split("\n");
  const bytes = Buffer.from(line, "base64");
  bytes[70]! ^= 1;
  assert.throws(
    () => SigningKey.read(`${comment}\n${bytes.toString("base64")}`, undefined),
    /the key is damaged/,
  );
  bytes.write("Sc", 2, "latin1");
  assert.throws(
    () => SigningKey.read(`${comment}\n${bytes.toString("base64")}`, undefined),
    /MACHINE_RELEASE_PASSWORD/,
  );
});

Deno.test("scryptCost() is libsodium's for the limits that minisign writes", () => {
  // crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE and MEMLIMIT_SENSITIVE
  assert.deepEqual(scryptCost(33554432, 1073741824), { N: 1048576, p: 1 });
  assert.deepEqual(scryptCost(524288, 16777216), { N: 16384, p: 1 });
});

Deno.test({
  name: "minisign itself takes a signature of SigningKey, and its key is one for it",
  ignore: ignoreWithout(import.meta.url, "minisign"),
  fn: async () => {
    const dir = await Deno.makeTempDir();
    const minisign = async (...args: string[]): Promise<string> => {
      const ran = await new Deno.Command("minisign", { args, cwd: dir, stdin: "null" }).output();
      const text = new TextDecoder();
      assert.ok(ran.success, text.decode(ran.stderr) + text.decode(ran.stdout));
      return text.decode(ran.stdout);
    };
    try {
      await minisign("-G", "-W", "-p", "key.pub", "-s", "key");
      const key = SigningKey.read(await Deno.readTextFile(join(dir, "key")), undefined);
      assert.equal(key.publicFile, await Deno.readTextFile(join(dir, "key.pub")));
      await Deno.writeFile(join(dir, "file"), FILE);
      await Deno.writeTextFile(join(dir, "file.minisig"), key.minisign(FILE, "version:1"));
      assert.match(await minisign("-V", "-p", "key.pub", "-m", "file"), /version:1/);
      await minisign("-S", "-W", "-s", "key", "-m", "file", "-t", "theirs");
      const theirs = await Deno.readTextFile(join(dir, "file.minisig"));
      assert.equal(verifyMinisign(readMinisignPublicKey(key.publicFile), FILE, theirs), "theirs");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

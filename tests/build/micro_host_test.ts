// The C part of machine-micro-server, compiled: flash through kills, TLS, memory, updates. For the
// other processors under an emulator. Compiling takes minutes, so `make smoke` runs it.
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { microTarget, ownTarget } from "../../tools/micro/targets.ts";
import { buildProbe, clientHello, inPieces, Probe, type ProbeOptions } from "./micro_host.ts";

const KILLS = 200;
const MAX_BYTES = 4e6;
const EMULATORS = { "linux-arm64": "qemu-aarch64-static", "linux-armv7": "qemu-arm-static" };

const ignore = ignoreBecause(import.meta.url, await noSourcesBecause());
const file = ignore ? "" : await buildProbe(ownTarget());

function probeTest(name: string, body: (folder: string) => Promise<void>): void {
  Deno.test({
    name: `micro host: ${name}`,
    ignore,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "machine-micro-" });
      try {
        await body(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** An authority that the probe of a folder trusts, unless said otherwise, and a page behind TLS. */
async function tlsServer(folder: string, at = new Date()) {
  const elsewhere = join(folder, `authority-${at.getTime()}`);
  await Deno.mkdir(elsewhere);
  const authority = await CertificateAuthority.open(elsewhere, { now: at });
  const pair = await authority.issue({ names: ["localhost"], commonName: "localhost", now: at });
  const server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, cert: pair.certificate, key: pair.key },
    onListen: () => undefined,
  }, () => new Response("a page"));
  return {
    ...pair,
    rootPem: authority.rootPem,
    port: server.addr.port,
    close: () => server.shutdown(),
  };
}

const page = (port: number, serverName = "localhost") =>
  ({ op: "get", host: "localhost", port, tls: true, serverName }) as const;

probeTest("what was kept is the last or the new value after each of 200 kills", async (folder) => {
  let last = 0;
  let halfWritten = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await using probe = await Probe.start(file, folder);
    const kept = await probe.ask({ op: "read", key: "value" });
    if (kill > 0) {
      assert.equal(kept["whole"], true, `after kill ${kill}: ${JSON.stringify(kept)}`);
      assert.ok(Number(kept["count"]) >= last, `after kill ${kill}: ${JSON.stringify(kept)}`);
      last = Number(kept["count"]);
    }
    await probe.ask({ op: "fill", key: "value", size: 200_000, from: last + 1 });
    // Another moment each time, until the first value was written for sure.
    const isNew = async () =>
      Number((await probe.ask({ op: "read", key: "value" }))["count"]) > last;
    await waitFor(isNew, { deadlineMs: 90_000, what: "a new value" });
    await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 23));
    await probe.kill();
    const names = Array.from(Deno.readDirSync(join(folder, "state", "flash")), ({ name }) => name);
    if (names.includes("value.new")) halfWritten++;
  }
  process.stdout.write(`${halfWritten} of ${KILLS} kills were in the middle of a write\n`);
  assert.ok(halfWritten > 0, "no kill was in the middle of a write");
  assert.ok(last >= KILLS - 1, `${last} values were written`);
});

probeTest("a page behind TLS is read where its authority is trusted", async (folder) => {
  const server = await tlsServer(folder);
  await Deno.writeTextFile(join(folder, "roots.pem"), server.rootPem);
  await using probe = await Probe.start(file, folder);
  assert.match(String((await probe.ask(page(server.port)))["text"]), /^HTTP.* 200[^]*a page$/);
  await server.close();
});

probeTest("authorities can be named on the command line", async (folder) => {
  const server = await tlsServer(folder);
  const other = await tlsServer(folder, new Date(Date.now() - 1000));
  await Deno.writeTextFile(join(folder, "roots.pem"), other.rootPem);
  await Deno.writeTextFile(join(folder, "own.pem"), server.rootPem);
  const args = ["-ca-file", join(folder, "own.pem")];
  await using probe = await Probe.start(file, folder, { args });
  assert.match(String((await probe.ask(page(server.port)))["text"]), /a page$/);
  assert.match(String((await probe.ask(page(other.port)))["text"]), /a page$/);
  await server.close();
  await other.close();
});

probeTest("a certificate of another authority, name or time is refused", async (folder) => {
  const server = await tlsServer(folder);
  const years = 20 * 365 * 24 * 3600 * 1000;
  const old = await tlsServer(folder, new Date(Date.now() - years));
  await Deno.writeTextFile(join(folder, "roots.pem"), old.rootPem);
  await using probe = await Probe.start(file, folder);
  const stranger = await probe.ask(page(server.port));
  assert.match(String(stranger["error"]), /certificate of localhost is refused: .*trusted CA/i);
  assert.match(String((await probe.ask(page(old.port)))["error"]), /refused: .*expired/i);
  await probe.kill();
  await Deno.writeTextFile(join(folder, "roots.pem"), server.rootPem);
  await using again = await Probe.start(file, folder);
  const misnamed = await again.ask(page(server.port, "cloud.test"));
  assert.match(String(misnamed["error"]), /certificate of cloud.test is refused: .*name/i);
  await server.close();
  await old.close();
});

probeTest("its own port speaks TLS with the certificate that it is given", async (folder) => {
  const { certificate, key, rootPem, close } = await tlsServer(folder);
  await close();
  await using probe = await Probe.start(file, folder);
  const { port } = await probe.ask({ op: "listen", certificate, privateKey: key });
  const caCerts = [rootPem];
  using socket = await Deno.connectTls({ hostname: "localhost", port: Number(port), caCerts });
  await socket.write(new TextEncoder().encode("hello"));
  const bytes = new Uint8Array(5);
  assert.equal(await socket.read(bytes), 5);
  assert.equal(new TextDecoder().decode(bytes), "hello");
  // In records of 40 bytes; others wait for their turn.
  using slow = await Deno.connect({ hostname: "localhost", port: Number(port) });
  const records = inPieces(await clientHello(), 40);
  await slow.write(records.subarray(0, 100));
  using silent = await Deno.connect({ hostname: "localhost", port: Number(port) });
  using waits = await Deno.connect({ hostname: "localhost", port: Number(port) });
  const other = await Deno.startTls(waits, { hostname: "localhost", caCerts });
  const turn = other.handshake();
  await slow.write(records.subarray(100));
  assert.ok(await slow.read(bytes));
  assert.equal(bytes[0], 22, "a record of the handshake");
  // The slow one says no more, and is closed; the silent one had no turn yet.
  await turn;
  while (await slow.read(new Uint8Array(4096)).catch(() => null) !== null);
  other.close();
  assert.ok(silent.remoteAddr);
  const wrong = await probe.ask({ op: "listen", certificate, privateKey: certificate });
  assert.match(String(wrong["error"]), /private key/);
});

probeTest("what is no TLS and no question ends its connection alone", async (folder) => {
  const server = await tlsServer(folder);
  await Deno.writeTextFile(join(folder, "roots.pem"), server.rootPem);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const noise = (seed: number, length: number): Uint8Array<ArrayBuffer> =>
    // A record of TLS with anything in it, every other time.
    Uint8Array.from({ length }, (_, i) =>
      seed % 2 && i < 5 ? [20 + seed % 5, 3, 3, 0, length - 5][i] ?? 0 : seed * 31 + i * i * 7);
  let seed = 0;
  const served = (async () => {
    for await (const connection of listener) {
      await connection.write(noise(seed++, 200)).catch(() => 0);
      connection.close();
    }
  })();
  await using probe = await Probe.start(file, folder);
  for (let time = 0; time < 50; time++) {
    const { error } = await probe.ask(page(listener.addr.port));
    assert.match(String(error), /TLS|peer|connection/i);
  }
  const { certificate, key } = server;
  const ports = [await probe.ask({ op: "listen", certificate, privateKey: key })];
  for (let time = 0; time < 200; time++) {
    const port = Number(ports[0]?.["port"]);
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(noise(time, 200)).catch(() => 0);
  }
  assert.match(String((await probe.ask(page(server.port)))["text"]), /a page$/);
  listener.close();
  await served;
  await server.close();
});

probeTest("plain connections to other computers are refused", async (folder) => {
  await using probe = await Probe.start(file, folder);
  const answer = await probe.ask({ op: "get", host: "192.0.2.1", port: 80, tls: false });
  assert.match(String(answer["error"]), /without TLS/);
});

probeTest(
  "a callback without memory ends alone, and one that hangs restarts it",
  async (folder) => {
    await using probe = await Probe.start(file, folder);
    await probe.tell({ op: "exhaust" });
    const { memory } = await probe.ask({ op: "info" });
    const { used, limit } = memory as { used: number; limit: number };
    assert.ok(used < 1e6 && limit === 8 << 20, JSON.stringify(memory));
    assert.ok(probe.program.lines.some((line) => line.includes("out of memory")));
    await probe.ask({ op: "reject" });
    await probe.program.waitForLine(/a promise failed.*nobody looks/, 60_000);
    await probe.tell({ op: "hang" });
    await probe.listens(2);
    assert.equal((await probe.ask({ op: "info" }))["version"], "1.0.0");
  },
);

probeTest("more than is kept at once arrives whole", async (folder) => {
  await using probe = await Probe.start(file, folder);
  assert.equal((await probe.askBytes({ op: "download", bytes: 3_000_000 })).length, 3_000_000);
});

probeTest("keys that are paths and values that are too large are refused", async (folder) => {
  await using probe = await Probe.start(file, folder);
  for (const key of ["../x", "", "A", "a".repeat(32), "LOCK"]) {
    assert.match(String((await probe.ask({ op: "write", key, size: 10 }))["error"]), /no key/);
  }
  const large = await probe.ask({ op: "write", key: "large", size: (1 << 20) + 1 });
  assert.match(String(large["error"]), /1 MiB/);
  assert.equal((await probe.ask({ op: "read", key: "large" }))["length"], -1);
});

probeTest("an update runs once, stays when confirmed, and goes back when not", async (folder) => {
  const image = await Deno.readFile(await buildProbe(ownTarget(), "2.0.0"));
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  const served = (async () => {
    for await (const connection of listener) {
      await new Blob([image]).stream().pipeTo(connection.writable).catch(() => undefined);
    }
  })();
  await using probe = await Probe.start(file, folder);
  let starts = 1;
  const restart = async () => {
    await probe.ask({ op: "restart" });
    await probe.listens(++starts);
    const { version, confirmed } = await probe.ask({ op: "info" });
    return `${version} ${confirmed}`;
  };
  const update = { op: "update", port, size: image.length } as const;
  const taken = { sha256: createHash("sha256").update(image).digest("hex") };

  assert.deepEqual(await probe.ask({ ...update, activate: false }), taken);
  assert.equal(await restart(), "1.0.0 true", "an image that was not activated runs");
  const short = await probe.ask({ ...update, size: image.length + 1, activate: true });
  assert.match(String(short["error"]), /not whole/);
  assert.equal(await restart(), "1.0.0 true", "an image that is not whole runs");

  assert.deepEqual(await probe.ask({ ...update, activate: true }), taken);
  assert.equal(await restart(), "2.0.0 false");
  assert.equal(await restart(), "1.0.0 true", "an image that was not confirmed stays");

  assert.deepEqual(await probe.ask({ ...update, activate: true }), taken);
  assert.equal(await restart(), "2.0.0 false");
  await probe.ask({ op: "confirm" });
  assert.equal(await restart(), "2.0.0 true", "a confirmed image does not stay");
  assert.deepEqual(await probe.ask({ op: "drop" }), {}, "there is no image to drop");
  await probe.ask({ op: "rollBack" });
  assert.equal(await restart(), "1.0.0 true", "roll-back does not bring the installed program");
  listener.close();
  await served.catch(() => undefined);
});

probeTest("wrong options and files end it with advice", async (folder) => {
  const run = async (...args: string[]) => {
    const { code, stderr } = await new Deno.Command(file, { args, stdin: "null" }).output();
    return `${code} ${new TextDecoder().decode(stderr)}`;
  };
  assert.match(await run("-nonsense"), /^2 .*no option -nonsense.*-help/);
  assert.match(await run("-listen", "somewhere"), /^2 .*-listen takes a number/);
  const state = ["-state", join(folder, "state")];
  assert.match(await run(...state, "-config", join(folder, "none")), /^1 .*none.*-config/s);
  assert.match(
    await run("-state", join(folder, "none", "\0").slice(0, -1), "-ca-file", "/"),
    /^1 /,
  );
  await using probe = await Probe.start(file, folder);
  assert.match(await run(...state), /^1 .*another machine-micro-server/);
  assert.equal((await probe.ask({ op: "info" }))["version"], "1.0.0");
});

async function sound(folder: string, program: string, options: ProbeOptions): Promise<void> {
  const server = await tlsServer(folder);
  await Deno.writeTextFile(join(folder, "roots.pem"), server.rootPem);
  await using probe = await Probe.start(program, folder, options);
  assert.match(String((await probe.ask(page(server.port)))["text"]), /a page$/);
  await server.close();

  const message = "a message with \u00fc and \u{1F916}";
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
  const signature = sign(null, new TextEncoder().encode(message), privateKey);
  const good = await probe.ask({ op: "check", message, key, signature: signature.toString("hex") });
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(message));
  assert.deepEqual(good, { valid: true, sha256: [...new Uint8Array(digest)] });
  signature[7] = (signature[7] ?? 0) ^ 1;
  const bad = await probe.ask({ op: "check", message, key, signature: signature.toString("hex") });
  assert.equal(bad["valid"], false);

  assert.deepEqual(await probe.ask({ op: "write", key: "k", size: 5000 }), {});
  assert.deepEqual(await probe.ask({ op: "read", key: "k" }), {
    length: 5000,
    count: 1,
    whole: true,
  });
  const { random, clock } = await probe.ask({ op: "info" });
  assert.equal(random, 600);
  assert.ok(Math.abs(Number(clock) - Date.now()) < 600_000, String(clock));
}

probeTest("hashes, signatures, TLS and flash are sound", (folder) => sound(folder, file, {}));

for (const [name, emulator] of Object.entries(EMULATORS)) {
  const without = missingTools("arm64 emulation");
  Deno.test({
    name: `micro host: likewise for ${name}, emulated`,
    ignore: ignore || ignoreBecause(import.meta.url, without),
    fn: async () => {
      const program = await buildProbe(microTarget(name));
      assert.ok((await Deno.stat(program)).size <= MAX_BYTES);
      const folder = await Deno.makeTempDir({ prefix: "machine-micro-" });
      try {
        await sound(folder, program, { runner: [emulator] });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { inspectPair } from "../tls/pair.ts";
import { AcmeCertificate, type AcmeCertificateOptions } from "./acme_certificate.ts";
import { AcmeFolder } from "./acme_store.ts";
import { HttpChallenges } from "./http_challenges.ts";
import { placeholderPair } from "./placeholder.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

async function withOptions(
  work: (
    options: AcmeCertificateOptions & {
      dataDir: string;
      log: ReturnType<typeof memoryLogger>;
    },
  ) => Promise<void>,
) {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-acme-" });
  try {
    await work({
      store: await AcmeFolder.open(dataDir),
      mayOrder: () => true,
      ...{ dataDir, domains: ["c.example"], directoryUrl: "https://acme.example/dir" },
      challenges: new HttpChallenges(memoryLogger()),
      order: ({ domains }) => placeholderPair(domains, NOW),
      newAccountKey: () => Promise.resolve("account"),
      clock: new FakeClock(NOW),
      log: memoryLogger("acme"),
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("AcmeCertificate goes on with what it has while the ACME server is down", () =>
  withOptions(async (options) => {
    let attempts = 0;
    const certificate = await AcmeCertificate.open({
      ...options,
      order: () => {
        attempts++;
        return Promise.reject(new Error("the server is down"));
      },
    });
    const waits = [];
    for (let i = 0; i < 3; i++) waits.push(await certificate.look(() => assert.fail()));
    assert.equal(attempts, 3);
    assert.ok(waits.every((wait) => wait >= 450_000), waits.join());
    assert.ok(inspectPair(certificate.pair).covers("c.example"));
    assert.match(JSON.stringify(options.log.entries.at(-1)), /server is down.*port 80/);
  }));

Deno.test("AcmeCertificate keeps what it got, and asks anew for other names or a damaged file", () =>
  withOptions(async (options) => {
    const first = await AcmeCertificate.open(options);
    await first.look(() => undefined);
    const kept = await AcmeCertificate.open(options);
    assert.equal(kept.pair.cert.trim(), first.pair.cert.trim());
    const more = await AcmeCertificate.open({ ...options, domains: ["c.example", "d.example"] });
    assert.notEqual(more.pair.cert.trim(), first.pair.cert.trim());
    const path = join(options.dataDir, "acme", "certificate.pem");
    await Deno.writeTextFile(path, (await Deno.readTextFile(path)).slice(0, -40));
    const damaged = await AcmeCertificate.open(options);
    let got = 0;
    await damaged.look(() => got++);
    assert.equal(got, 1);
  }));

Deno.test("AcmeCertificate ends at once while an order is under way", () =>
  withOptions(async (options) => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const certificate = await AcmeCertificate.open({
      ...options,
      order: () => {
        resolve();
        return new Promise<never>(() => undefined);
      },
    });
    const stop = new AbortController();
    const running = certificate.run(() => undefined, stop.signal);
    await begun;
    stop.abort();
    await running;
  }));

Deno.test("HttpChallenges answers what is asked for and nothing else", async () => {
  const challenges = new HttpChallenges(memoryLogger());
  challenges.set("abc", "abc.key");
  const path = "/.well-known/acme-challenge/";
  assert.equal(await (await challenges.answer(`${path}abc`)).text(), "abc.key");
  for (const other of ["abd", "", "../abc"]) {
    assert.equal((await challenges.answer(path + other)).status, 404);
  }
  challenges.remove("abc");
  assert.equal((await challenges.answer(`${path}abc`)).status, 404);
});

/** A connection that says so. @returns what it receives until it is closed */
async function heardBy(port: number, said: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(said)).catch(() => undefined);
  return await new Response(connection.readable).text().catch(() => "");
}

Deno.test("HttpChallenges bounds what strangers hold open at its port", async () => {
  const log = memoryLogger();
  const challenges = new HttpChallenges(log, { total: 6, headersMs: 500, handshakeMs: 500 });
  challenges.set("abc", "abc.key");
  const { port } = await challenges.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${port}/.well-known/acme-challenge/abc`;
  try {
    // Ended from there: neither would ever end on its own.
    assert.equal(await heardBy(port, ""), "");
    assert.equal(await heardBy(port, "GET / HTTP/1.1\r\nHost: c.exa"), "");
    const malformed = await heardBy(port, "GET / HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n");
    assert.match(malformed, /^HTTP\/1\.1 400 /);
    const begun = "GET / HTTP/1.1\r\n";
    await Promise.all(Array.from({ length: 20 }, () => heardBy(port, begun)));
    assert.match(log.text(), /refused a connection.*6 descriptors/);
    // What was closed gives its place back a moment later.
    const answered = () => fetch(url).then((answer) => answer.text(), () => "");
    await waitFor(async () => await answered() === "abc.key", {
      ...{ deadlineMs: 60_000, what: "the answer" },
    });
    assert.deepEqual(log.entries.filter(({ level }) => level === "error"), []);
  } finally {
    await challenges.close();
  }
});

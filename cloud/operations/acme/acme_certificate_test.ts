import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { inspectPair } from "../tls/pair.ts";
import { AcmeCertificate, type AcmeCertificateOptions } from "./acme_certificate.ts";
import { HttpChallenges } from "./http_challenges.ts";
import { placeholderPair } from "./placeholder.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

async function withOptions(
  work: (
    options: AcmeCertificateOptions & { log: ReturnType<typeof memoryLogger> },
  ) => Promise<void>,
) {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-acme-" });
  try {
    await work({
      ...{ dataDir, domains: ["c.example"], directoryUrl: "https://acme.example/dir" },
      challenges: new HttpChallenges(),
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
  const challenges = new HttpChallenges();
  challenges.set("abc", "abc.key");
  const path = "/.well-known/acme-challenge/";
  assert.equal(await challenges.answer(`${path}abc`).text(), "abc.key");
  for (const other of ["abd", "", "../abc"]) {
    assert.equal(challenges.answer(path + other).status, 404);
  }
  challenges.remove("abc");
  assert.equal(challenges.answer(`${path}abc`).status, 404);
  await Promise.resolve();
});

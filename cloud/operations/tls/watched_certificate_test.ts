import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { CertificateAuthority } from "../../accounts/certificates/authority.ts";
import type { TlsPair } from "./pair.ts";
import { WatchedCertificate } from "./watched_certificate.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

async function rig() {
  const folder = await Deno.makeTempDir({ prefix: "machine-tls-" });
  const authority = await CertificateAuthority.open(folder, { now: NOW });
  await Deno.remove(folder, { recursive: true });
  const issue = async (): Promise<TlsPair> => {
    const made = await authority.issue({ names: ["c.example"], commonName: "c", now: NOW });
    return { cert: made.certificate, key: made.key };
  };
  const first = await issue();
  const files: Record<string, string> = { cert: first.cert, key: first.key };
  const taken: TlsPair[] = [];
  const log = memoryLogger("tls");
  const clock = new FakeClock(NOW);
  const watched = new WatchedCertificate({
    files: { cert: "cert", key: "key" },
    pair: first,
    clock,
    log,
    onChange: (pair) => taken.push(pair),
    read: (path) =>
      files[path] === undefined
        ? Promise.reject(new Error(`${path} is not there`))
        : Promise.resolve(files[path]),
  });
  return { issue, files, taken, log, clock, watched };
}

Deno.test("WatchedCertificate takes new files, and keeps the old pair while they do not fit", async () => {
  const { issue, files, taken, log, watched } = await rig();
  await watched.look();
  assert.deepEqual(taken, []);
  const next = await issue();
  files["cert"] = next.cert; // The key follows a moment later.
  await watched.look();
  await watched.look();
  assert.deepEqual(taken, []);
  const complaints = () => log.entries.filter(({ level }) => level === "error");
  assert.equal(complaints().length, 1);
  assert.match(JSON.stringify(complaints()), /stays.*not that of the certificate/);
  files["key"] = next.key;
  await watched.look();
  assert.deepEqual(taken, [next]);
  for (const broken of ["", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"]) {
    files["cert"] = broken;
    await watched.look();
  }
  delete files["cert"];
  await watched.look();
  assert.equal(taken.length, 1);
});

Deno.test("WatchedCertificate says once a day that the certificate ends soon", async () => {
  const { log, clock, watched } = await rig();
  await watched.look();
  assert.equal(log.entries.length, 0);
  for (const days of [80, 0.1, 1]) {
    await clock.advance(days * 86_400_000);
    await watched.look();
  }
  const said = log.entries.filter(({ level }) => level === "warn").map(({ message }) => message);
  assert.equal(said.length, 2);
  assert.match(said[0] ?? "", /ends 2026-04-01, in \d+ days; renew it/);
});

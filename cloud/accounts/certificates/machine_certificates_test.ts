import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { AuthorityError, CertificateAuthority } from "./authority.ts";
import { MachineCertificates } from "./machine_certificates.ts";

const DAY_MS = 86_400_000;
const part = {
  id: "8d0d1f3c-7c1a-4a4e-9f0e-0c9d3a2b1f00",
  dns_label: "demo-main",
  location_id: "abc",
};
const names = ["demo-main.abc.machine.internal", "demo-main.abc.local.machine.internal"];

function test(name: string, fn: (dataDir: string, clock: FakeClock) => Promise<void>): void {
  Deno.test(name, async () => {
    const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
    try {
      await fn(dataDir, new FakeClock());
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
}

const open = (dataDir: string, clock: FakeClock, changes: { domain?: string; log?: Logger } = {}) =>
  new MachineCertificates({
    ...{ dataDir, time: new SteadyTime(clock), domain: "machine.internal" },
    ...{ log: memoryLogger(), ...changes },
  });

test(
  "a machine's certificate is for both its names, and the published root signed it",
  async (dataDir, clock) => {
    const certificates = open(dataDir, clock);
    const { certificate, key } = await certificates.of(part);
    const leaf = new X509Certificate(certificate);
    const root = new X509Certificate(await certificates.rootPem());
    assert.ok(leaf.checkIssued(root));
    assert.ok(leaf.verify(root.publicKey));
    assert.ok(root.ca && !leaf.ca);
    for (const name of names) assert.equal(leaf.checkHost(name), name);
    assert.equal(leaf.checkHost("other.abc.machine.internal"), undefined);
    assert.match(key, /^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n$/);
    const now = clock.now().getTime();
    assert.ok(new Date(leaf.validFrom).getTime() < now);
    assert.ok(Math.abs(new Date(leaf.validTo).getTime() - now - 90 * DAY_MS) < 2_000);
    for (const name of ["ca.pem", `certificates/${part.id}.json`]) {
      const { mode } = await Deno.stat(join(dataDir, name));
      if (Deno.build.os !== "windows") assert.equal((mode ?? 0) & 0o777, 0o600, name);
    }
  },
);

test(
  "a machine gets the same certificate, from the next start of the cloud too, until it is renewed",
  async (dataDir, clock) => {
    const first = await open(dataDir, clock).of(part);
    await clock.advance(59 * DAY_MS);
    const certificates = open(dataDir, clock);
    const [again, twice] = await Promise.all([certificates.of(part), certificates.of(part)]);
    assert.equal(again.certificate, first.certificate);
    assert.equal(twice.certificate, first.certificate);
    await clock.advance(2 * DAY_MS);
    const renewed = await certificates.of(part);
    assert.notEqual(renewed.certificate, first.certificate);
    assert.ok(new X509Certificate(renewed.certificate).checkIssued(
      new X509Certificate(await certificates.rootPem()),
    ));
  },
);

test(
  "a machine gets another certificate when its names change, or the authority",
  async (dataDir, clock) => {
    const first = await open(dataDir, clock).of(part);
    const renamed = await open(dataDir, clock, { domain: "example.com" }).of(part);
    assert.equal(
      new X509Certificate(renamed.certificate).checkHost("demo-main.abc.example.com"),
      "demo-main.abc.example.com",
    );
    await Deno.remove(join(dataDir, "ca.pem"));
    const second = await open(dataDir, clock, { domain: "example.com" }).of(part);
    assert.notEqual(second.certificate, first.certificate);
    await Deno.writeTextFile(join(dataDir, "certificates", `${part.id}.json`), "{torn");
    assert.ok((await open(dataDir, clock).of(part)).certificate);
  },
);

test(
  "an authority of the operator's own is used, and one that cannot be is refused with advice",
  async (dataDir, clock) => {
    const now = clock.now();
    await CertificateAuthority.open(dataDir, { now });
    const pem = await Deno.readTextFile(join(dataDir, "ca.pem"));
    const certificate = join(dataDir, "own.crt");
    const key = join(dataDir, "own.key");
    const [own = "", ownKey = ""] = pem.split(/(?=-----BEGIN PRIVATE KEY)/);
    await Deno.writeTextFile(certificate, own);
    await Deno.writeTextFile(key, ownKey);
    await Deno.remove(join(dataDir, "ca.pem"));
    const files = { certificate, key };
    const authority = await CertificateAuthority.open(dataDir, { files, now });
    assert.equal(authority.rootPem.trim(), own.trim());
    await assert.rejects(Deno.stat(join(dataDir, "ca.pem")));

    await CertificateAuthority.open(dataDir, { now });
    const other = await Deno.readTextFile(join(dataDir, "ca.pem"));
    const refused: [text: string, why: RegExp][] = [
      ["hello", /there is no private key/],
      [other, /the key is not that of the certificate/],
    ];
    for (const [text, why] of refused) {
      await Deno.writeTextFile(key, text);
      await assert.rejects(CertificateAuthority.open(dataDir, { files, now }), (error: Error) => {
        assert.ok(error instanceof AuthorityError);
        assert.match(error.message, why);
        return true;
      });
    }
    const later = new Date(now.getTime() + 4_000 * DAY_MS);
    await assert.rejects(CertificateAuthority.open(dataDir, { now: later }), /ended .*renew it/);
  },
);

test(
  "a certificate of a clock that jumped is good for everybody, and is replaced once it is right",
  async (dataDir, clock) => {
    const now = clock.now().getTime();
    await open(dataDir, clock).of(part);
    const year = 365 * DAY_MS;
    const at = (ms: number) => new FakeClock(ms);
    for (const [cautious, strict] of [[now, now + year], [now - year, now]] as const) {
      const jumped = new MachineCertificates({
        ...{ dataDir, domain: "machine.internal", log: memoryLogger() },
        time: { cautious: at(cautious), strict: at(strict) },
      });
      const leaf = new X509Certificate((await jumped.of(part)).certificate);
      assert.ok(new Date(leaf.validFrom).getTime() <= cautious, "it has begun");
      assert.ok(new Date(leaf.validTo).getTime() > strict + 30 * DAY_MS, "it lasts");
    }
    const ahead = new X509Certificate((await open(dataDir, at(now + year)).of(part)).certificate);
    assert.ok(new Date(ahead.validFrom).getTime() > now);
    const right = new X509Certificate((await open(dataDir, clock).of(part)).certificate);
    assert.ok(new Date(right.validFrom).getTime() <= now);
    assert.ok(Math.abs(new Date(right.validTo).getTime() - now - 90 * DAY_MS) < 2_000);
  },
);

test(
  "a machine keeps its certificate where the authority ends soon, and gets none of one that ended",
  async (dataDir, clock) => {
    await CertificateAuthority.open(dataDir, { now: clock.now() });
    await clock.advance(3_640 * DAY_MS);
    const log = memoryLogger();
    const certificates = open(dataDir, clock, { log });
    const first = await certificates.of(part);
    assert.ok(new X509Certificate(first.certificate).checkIssued(
      new X509Certificate(await certificates.rootPem()),
    ));
    await clock.advance(3_600_000);
    assert.equal((await certificates.of(part)).certificate, first.certificate);
    await clock.advance(DAY_MS);
    assert.equal((await certificates.of(part)).certificate, first.certificate);
    const events = log.entries.map(({ level, fields }) => [level, fields["event"]]);
    assert.deepEqual(events, [["warn", "authority_expiring"], ["warn", "authority_expiring"]]);

    await clock.advance(10 * DAY_MS);
    await assert.rejects(certificates.of(part), /ended .*renew it/);
    await Deno.remove(join(dataDir, "ca.pem"));
    assert.notEqual((await certificates.of(part)).certificate, first.certificate);
  },
);

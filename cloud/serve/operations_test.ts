import assert from "node:assert/strict";
import { connect } from "node:tls";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { CertificateAuthority } from "../accounts/certificates/authority.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { type Cloud, type CloudOptions, startCloud } from "./cloud.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

async function withCloud(
  options: Partial<CloudOptions>,
  run: (cloud: Cloud, dataDir: string) => Promise<void>,
) {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-operations-" });
  const cloud = await startCloud({
    dataDir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    packageLimitBytes: 1_000_000,
    hostname: "localhost",
    ...options,
  }, deps);
  try {
    await run(cloud, dataDir);
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("a cloud says that it is ready, describes its API, and hides metrics without a token", () =>
  withCloud({ operations: { metricsToken: "t" } }, async ({ url }) => {
    const ready = await fetch(`${url}/readyz`);
    assert.equal(ready.status, 200);
    assert.deepEqual(await ready.json(), {
      ready: true,
      checks: { database: "ok", process: "ok" },
    });
    const document = await (await fetch(`${url}/openapi.json`)).json();
    assert.deepEqual(document.servers, [{ url }]);
    assert.ok(document.paths["/viam.app.v1.AppService/ListOrganizations"]);
    const { valid, errors } = await new Validator().validate(document);
    assert.ok(valid, JSON.stringify(errors)?.slice(0, 500));
    const get = async (authorization: string) => {
      const answer = await fetch(`${url}/metrics`, { headers: { authorization } });
      return { status: answer.status, text: await answer.text() };
    };
    assert.equal((await get("Bearer x")).status, 401);
    const { text } = await get("Bearer t");
    assert.match(text, /^machine_cloud_queue_length\{queue="deliveries"\} 0$/m);
    assert.match(text, /^machine_cloud_database_bytes\{database="cloud\.db"\} \d{4,}$/m);
  }));

/** The serial number of the certificate that a new connection gets. */
function serialAt(url: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(
    { host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false },
    () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    },
  );
  socket.on("error", reject);
  return promise;
}

Deno.test("a cloud serves new connections with a certificate that was put in the place of its own", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-cert-" });
  const files = { cert: join(folder, "c.pem"), key: join(folder, "k.pem") };
  const authority = await CertificateAuthority.open(folder, { now: new Date() });
  const renew = async () => {
    const pair = await authority.issue({ names: ["x"], commonName: "x", now: new Date() });
    await Deno.writeTextFile(files.cert, pair.certificate);
    await Deno.writeTextFile(files.key, pair.key);
    return { cert: pair.certificate, key: pair.key };
  };
  const tls = { ...await renew(), files };
  await withCloud({ tls }, async ({ url }) => {
    const first = await serialAt(url);
    assert.equal(await serialAt(url), first);
    await renew();
    await waitFor(async () => await serialAt(url) !== first, {
      deadlineMs: 60_000,
      what: "the new certificate",
    });
    const second = await serialAt(url);
    await Deno.writeTextFile(files.key, "broken");
    await waitFor(() => deps.log.entries.some(({ message }) => /one from before/.test(message)), {
      deadlineMs: 60_000,
      what: "a complaint",
    });
    assert.equal(await serialAt(url), second);
  });
  await Deno.remove(folder, { recursive: true });
});

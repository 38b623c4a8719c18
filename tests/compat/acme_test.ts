/** ACME against Pebble, the small server of Let's Encrypt for tests. Skipped where there is no Go. */
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { axios } from "acme-client";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { AcmeCertificate } from "../../cloud/operations/acme/acme_certificate.ts";
import { AcmeFolder, SharedAcmeStore } from "../../cloud/operations/acme/acme_store.ts";
import { HttpChallenges } from "../../cloud/operations/acme/http_challenges.ts";
import { newAccountKey, order } from "../../cloud/operations/acme/order.ts";
import { inspectPair } from "../../cloud/operations/tls/pair.ts";
import { DerivedSecrets } from "../../cloud/storage/keys/derived_secrets.ts";
import { parsePostgresAddress } from "../../cloud/storage/postgres/address.ts";
import { PostgresDatabase } from "../../cloud/storage/postgres/postgres_database.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { bootstrapFolder } from "../../cloud/local/bootstrap/bootstrap_testing.ts";
import { Program } from "../e2e/program.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { GrpcCaller } from "./grpc_caller.ts";
import { buildGoProgram } from "./go_program.ts";

const program = await buildGoProgram({
  name: "pebble",
  folder: "pebble",
  package: "github.com/letsencrypt/pebble/v2/cmd/pebble",
});

const PROGRAMS = Deno.env.get("MACHINE_TEST_BINARIES") ??
  fileURLToPath(new URL("../../bin", import.meta.url));

interface PebblePlace {
  readonly directoryUrl: string;
  readonly folder: string;
  /** The authority of Pebble's own certificate, PEM. */
  readonly ownRoot: string;
  /** The root of what it issues, PEM. */
  issuedRoot(): Promise<string>;
}

/** Pebble with a certificate of its own, which requests names at `httpPort`. */
async function withPebble(httpPort: number, work: (place: PebblePlace) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-pebble-" });
  const authority = await CertificateAuthority.open(folder, { now: new Date() });
  const pair = await authority.issue({
    names: ["localhost"],
    commonName: "localhost",
    now: new Date(),
  });
  const [certificate, privateKey] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Deno.writeTextFile(certificate, pair.certificate);
  await Deno.writeTextFile(privateKey, pair.key);
  const [port, managementPort] = [freePort(), freePort()];
  const config = join(folder, "pebble.json");
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      pebble: {
        ...{ listenAddress: `127.0.0.1:${port}`, certificate, privateKey, httpPort },
        ...{ managementListenAddress: `127.0.0.1:${managementPort}`, tlsPort: freePort() },
        profiles: { default: { description: "d", validityPeriod: 7_776_000 } },
      },
    }),
  );
  const process = new Deno.Command(program.path, {
    args: ["-config", config],
    env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0", PEBBLE_AUTHZREUSE: "0" },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const before = axios.defaults.httpsAgent;
  const agent = new Agent({ ca: authority.rootPem });
  axios.defaults.httpsAgent = agent;
  try {
    const directoryUrl = `https://localhost:${port}/dir`;
    await waitFor(() => axios.get(directoryUrl).then(() => true, () => false), {
      deadlineMs: 60_000,
      what: "Pebble",
    });
    await work({
      ...{ directoryUrl, folder, ownRoot: authority.rootPem },
      issuedRoot: async () =>
        (await axios.get<string>(`https://localhost:${managementPort}/roots/0`)).data,
    });
  } finally {
    agent.destroy();
    axios.defaults.httpsAgent = before;
    process.kill("SIGKILL");
    await process.status;
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test(
  "AcmeCertificate gets a certificate by HTTP-01, keeps it, and asks again with the same account",
  { ignore: ignoreBecause(import.meta.url, program.missing) },
  async () => {
    const challenges = new HttpChallenges(memoryLogger());
    const { port } = await challenges.listen({ hostname: "127.0.0.1", port: 0 });
    await withPebble(port, async ({ directoryUrl, folder }) => {
      const options = {
        ...{ store: await AcmeFolder.open(folder), mayOrder: () => true },
        ...{ domains: ["localhost"], directoryUrl, email: "a@example.com" },
        ...{ challenges, order, newAccountKey, clock: systemClock, log: memoryLogger("acme") },
      };
      const first = await AcmeCertificate.open(options);
      const placeholder = first.pair;
      const taken: string[] = [];
      await first.look(({ cert }) => taken.push(cert));
      assert.deepEqual(options.log.entries.filter(({ level }) => level === "error"), []);
      assert.equal(taken.length, 1);
      assert.notEqual(first.pair.cert, placeholder.cert);
      assert.ok(inspectPair(first.pair).covers("localhost"));
      assert.ok(first.notAfter.getTime() > Date.now() + 80 * 86_400_000);
      for (const name of ["certificate.pem", "account.pem"]) {
        assert.equal((await Deno.stat(join(folder, "acme", name))).mode! & 0o777, 0o600, name);
      }
      const account = await Deno.readTextFile(join(folder, "acme", "account.pem"));
      const again = await AcmeCertificate.open(options);
      assert.equal(again.pair.cert.trim(), first.pair.cert.trim());
      await again.look(() => assert.fail("nothing is to be renewed"));
      // Two months on: less than a third is left.
      const later = {
        ...systemClock,
        now: () => new Date(Date.now() + 61 * 86_400_000),
        sleep: systemClock.sleep.bind(systemClock),
        monotonicMs: () => systemClock.monotonicMs(),
      };
      const renewing = await AcmeCertificate.open({ ...options, clock: later });
      await renewing.look(({ cert }) => taken.push(cert));
      assert.equal(taken.length, 2);
      assert.notEqual(taken[1], taken[0]);
      assert.equal(await Deno.readTextFile(join(folder, "acme", "account.pem")), account);
    });
    await challenges.close();
  },
);

Deno.test(
  "one of two nodes orders, the other one answers the ACME server, and both serve with the result",
  { ignore: ignoreBecause(import.meta.url, program.missing ?? missingTools("postgresql")) },
  async () => {
    await using server = await PostgresServer.start();
    const address = parsePostgresAddress(server.address("pool=2"), "/data");
    const secrets = new DerivedSecrets(new Uint8Array(32));
    const challenges = [new HttpChallenges(memoryLogger()), new HttpChallenges(memoryLogger())];
    const [own, others] = challenges;
    assert.ok(own && others);
    // The balancer leads the ACME server to the node that ordered nothing.
    const { port } = await others.listen({ hostname: "127.0.0.1", port: 0 });
    const databases = [await PostgresDatabase.open(address), await PostgresDatabase.open(address)];
    try {
      await withPebble(port, async ({ directoryUrl, folder }) => {
        const [leader, follower] = databases.map((database, at) => {
          const store = new SharedAcmeStore(database, secrets, join(folder, `node${at}`));
          challenges[at]!.answerFor(() => store.account());
          return {
            ...{ store, mayOrder: () => at === 0, challenges: challenges[at]! },
            ...{ domains: ["localhost"], directoryUrl, order, newAccountKey },
            ...{ clock: systemClock, log: memoryLogger("acme") },
          };
        });
        assert.ok(leader && follower);
        const second = await AcmeCertificate.open(follower);
        const waitMs = await second.look(() => assert.fail("there is none yet"));
        assert.ok(waitMs <= 10_000, `${waitMs}`);
        const first = await AcmeCertificate.open(leader);
        const taken: string[] = [];
        await first.look(({ cert }) => taken.push(cert.trim()));
        assert.deepEqual(leader.log.entries.filter(({ level }) => level === "error"), []);
        await second.look(({ cert }) => taken.push(cert.trim()));
        assert.deepEqual(taken, [first.pair.cert.trim(), first.pair.cert.trim()]);
        await second.look(() => assert.fail("nothing new"));
        const kept = await server.query("select value from machine_cloud.settings");
        assert.doesNotMatch(kept, /PRIVATE/);
        // Another one takes over: it has the account and the certificate.
        const later = await AcmeCertificate.open({ ...follower, mayOrder: () => true });
        await later.look(() => assert.fail("nothing is to be renewed"));
        assert.equal(await follower.store.account(), await leader.store.account());
        assert.equal((await others.answer("/.well-known/acme-challenge/short")).status, 404);
      });
    } finally {
      await others.close();
      for (const database of databases) await database.close();
    }
  },
);

Deno.test(
  "machine-cloud serves a certificate by ACME, with which a stock server starts",
  { ignore: ignoreBecause(import.meta.url, program.missing) },
  async () => {
    const challengePort = freePort();
    await withPebble(challengePort, async ({ directoryUrl, folder, ownRoot, issuedRoot }) => {
      const dataDir = join(folder, "cloud");
      const port = freePort();
      const url = `https://localhost:${port}`;
      const made = await bootstrapFolder(dataDir);
      const trusted = join(folder, "trusted.pem");
      await Deno.writeTextFile(trusted, ownRoot);
      const cloud = Program.start({
        name: "machine-cloud",
        command: join(PROGRAMS, "machine-cloud"),
        args: [
          ...["serve", "--data", dataDir, "--listen", `127.0.0.1:${port}`, "--public-url", url],
          ...["--acme-domain", "localhost", "--acme-directory", directoryUrl],
          ...["--acme-listen", `127.0.0.1:${challengePort}`],
        ],
        env: { SSL_CERT_FILE: trusted, DENO_TLS_CA_STORE: undefined },
      });
      try {
        await cloud.waitForLine(/serving/, 120_000);
        const root = await issuedRoot();
        await waitFor(() => isTrusted(port, root), {
          deadlineMs: 120_000,
          what: "a certificate by ACME",
        });
        const server = new GrpcCaller(url, root);
        try {
          const id = made.part_id;
          await server.signIn(id, "robot-secret", made.part_secret);
          const { config } = await server.unary(RobotService.method.config, { id });
          assert.equal(config?.cloud?.signalingAddress, `localhost:${port}`);
          assert.equal(config?.cloud?.signalingInsecure, false);
          // Machines have theirs of the cloud's own authority, whatever the cloud itself has.
          const own = await server.unary(RobotService.method.certificate, { id });
          const leaf = new X509Certificate(own.tlsCertificate);
          assert.equal(leaf.checkHost(made.fqdn), made.fqdn);
          assert.ok(leaf.checkPrivateKey(createPrivateKey(own.tlsPrivateKey)));
          assert.ok(!leaf.checkIssued(new X509Certificate(root)));
        } finally {
          server.close();
        }
      } finally {
        await cloud.stop(20_000);
      }
    });
  },
);

/** Whether a handshake for the name ends with a certificate that the root vouches for. */
function isTrusted(port: number, root: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTls(
      { host: "127.0.0.1", port, servername: "localhost", ca: root },
      () => {
        resolve(socket.authorized);
        socket.destroy();
      },
    );
    socket.on("error", () => resolve(false));
  });
}

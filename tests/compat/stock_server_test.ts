/**
 * What a stock server of the family asks of a cloud with TLS: the calls in their order and with
 * their fields, by a small client with nothing of ours but the messages.
 */
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { AppService, OnlineState } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { CredentialsType, RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { bootstrapFolder } from "../../cloud/local/bootstrap/bootstrap_testing.ts";
import { CertificateAuthority } from "../../cloud/accounts/certificates/authority.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { credentialsFile } from "../../cloud/fleet/machines/part_credentials.ts";
import { startCloud } from "../../cloud/serve/cloud.ts";
import { GrpcCaller } from "./grpc_caller.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

Deno.test("a cloud with TLS answers a stock server's calls from its start on", async (t) => {
  const dir = await Deno.makeTempDir({ prefix: "machine-stock-" });
  // A certificate for the cloud itself, of somebody whom the host trusts.
  const elsewhere = join(dir, "elsewhere");
  await Deno.mkdir(elsewhere);
  const now = new Date();
  const public_ = await CertificateAuthority.open(elsewhere, { now });
  const issued = await public_.issue({ names: ["localhost"], commonName: "localhost", now });
  const dataDir = join(dir, "cloud");
  const made = await bootstrapFolder(dataDir);
  const cloud = await startCloud({
    ...{ dataDir, domain: "machine.internal", packageLimitBytes: 1_000_000 },
    ...{ listen: { hostname: "127.0.0.1", port: 0 }, hostname: "localhost" },
    tls: { cert: issued.certificate, key: issued.key },
  }, deps);
  const { port } = cloud.address;
  const caller = new GrpcCaller(`https://localhost:${port}`, public_.rootPem);
  const person = new GrpcCaller(`https://localhost:${port}`, public_.rootPem);
  const id = made.part_id;
  const agentInfo = {
    ...{ host: "demo", os: "linux", ips: ["192.168.1.20"], version: "v0.100.0" },
    ...{ gitRevision: "abc", platform: "linux/amd64", platformTags: ["distro:debian"] },
  };
  try {
    await t.step("the credentials file names the port, 443 too", () => {
      const { cloud } = credentialsFile("https://cloud.example.com", id, "s");
      assert.equal(cloud.app_address, "https://cloud.example.com:443");
      assert.equal(
        credentialsFile("http://a.example", id, "s").cloud.app_address,
        "http://a.example:80",
      );
    });

    await t.step(
      "Authenticate with the part's secret",
      () => caller.signIn(id, "robot-secret", made.part_secret),
    );

    const { config } = await caller.unary(RobotService.method.config, { id, agentInfo });
    await t.step("Config has what a stock server refuses to start without", () => {
      const { cloud } = config ?? {};
      assert.equal(cloud?.id, id);
      assert.equal(cloud?.fqdn, made.fqdn);
      assert.notEqual(cloud?.localFqdn, "");
      assert.ok((cloud?.locationSecrets ?? []).length > 0);
      assert.equal(cloud?.signalingInsecure, false);
      assert.match(cloud?.signalingAddress ?? "", /^[^:]+:\d+$/);
    });

    const certificate = await caller.unary(RobotService.method.certificate, { id });
    const root = await (await fetch(`https://localhost:${port}/ca.pem`, {
      signal: AbortSignal.timeout(60_000),
      client: Deno.createHttpClient({ caCerts: [public_.rootPem] }),
    })).text();
    await t.step("Certificate has a pair for its names, of the authority at /ca.pem", async () => {
      const leaf = new X509Certificate(certificate.tlsCertificate);
      assert.equal(certificate.id, id);
      assert.ok(leaf.checkPrivateKey(createPrivateKey(certificate.tlsPrivateKey)));
      assert.ok(leaf.checkIssued(new X509Certificate(root)));
      for (const name of [config?.cloud?.fqdn, config?.cloud?.localFqdn]) {
        assert.equal(leaf.checkHost(name ?? ""), name);
      }
      const again = await caller.unary(RobotService.method.certificate, { id });
      assert.equal(again.tlsCertificate, certificate.tlsCertificate);
      const told = await caller.unary(MachineService.method.getCertificateAuthority, {});
      assert.equal(told.pem, root);
    });

    await t.step("a port that is served with it is trusted by who trusts the root", async () => {
      const server = await RpcServer.start({
        ...{ router: new RpcRouter(), listen: { hostname: "127.0.0.1", port: 0 } },
        tls: { cert: certificate.tlsCertificate, key: certificate.tlsPrivateKey },
        ...{ interceptors: [], http: () => new Response("hello"), report: () => {} },
      });
      const reached = Promise.withResolvers<boolean>();
      const socket = connectTls({
        ...{ host: "127.0.0.1", port: server.address.port, ca: root, servername: made.fqdn },
      }, () => reached.resolve(socket.authorized));
      socket.on("error", reached.reject);
      assert.equal(await reached.promise, true);
      socket.destroy();
      await server.close({ graceMs: 0 });
    });

    await t.step("auth.handlers has a key that clients get, and that counts here too", async () => {
      const [handler] = config?.auth?.handlers ?? [];
      assert.equal(handler?.type, CredentialsType.API_KEY);
      const [[keyId = "", key] = []] = Object.entries(handler?.config ?? {});
      await person.signIn(keyId, "api-key", String(key));
      await person.signIn(made.api_key_id, "api-key", made.api_key);
      const keys = await person.unary(AppService.method.getRobotAPIKeys, {
        robotId: made.machine_id,
      });
      const told = keys.apiKeys.map(({ apiKey }) => `${apiKey?.id} ${apiKey?.key}`);
      assert.ok(told.includes(`${keyId} ${String(key)}`), JSON.stringify(told.length));
    });

    await t.step("two Answer streams wait for calls", async () => {
      const path = `/${SignalingService.typeName}/Answer`;
      const streams = [1, 2].map(() =>
        caller.open(path, { "rpc-host": made.fqdn, "heartbeats-allowed": "true" })
      );
      for (const stream of streams) stream.on("error", () => {});
      await waitFor(async () => {
        const { robot } = await person.unary(AppService.method.getRobot, { id: made.machine_id });
        return robot?.onlineState === OnlineState.ONLINE;
      }, { deadlineMs: 60_000, what: "the machine to be online" });
      assert.ok(streams.every((stream) => !stream.closed));
      for (const stream of streams) stream.close();
    });

    await t.step("Log takes a batch of 100 lines", async () => {
      const logs = Array.from({ length: 100 }, (_, n) => ({
        ...{ host: "demo", level: "info", loggerName: "rdk", message: `line ${n}`, stack: "" },
        time: { seconds: BigInt(Math.floor(now.getTime() / 1_000)), nanos: n },
        caller: { Defined: true, File: "/a.go", Line: 7, Function: "f" },
      }));
      await caller.unary(RobotService.method.log, { id, logs });
    });

    await t.step("NeedsRestart says how often to ask", async () => {
      const answer = await caller.unary(RobotService.method.needsRestart, { id });
      assert.equal(answer.mustRestart, false);
      assert.equal(answer.restartCheckInterval?.seconds, 5n);
    });

    await t.step("Config is the same the next time", async () => {
      const { config: again } = await caller.unary(RobotService.method.config, { id, agentInfo });
      assert.deepEqual(again, config);
    });
  } finally {
    caller.close();
    person.close();
    await cloud.close({ graceMs: 500 });
    await Deno.remove(dir, { recursive: true });
  }
});

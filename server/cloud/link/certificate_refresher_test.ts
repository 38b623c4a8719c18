import assert from "node:assert/strict";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { CertificateResponseSchema } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { CertificateRefresher } from "./certificate_refresher.ts";

class Rig {
  readonly clock = new FakeClock();
  readonly log = memoryLogger("networking");
  answer: string | ConnectError = "first";
  asked = 0;

  constructor(readonly dir: string) {}

  get path(): string {
    return join(this.dir, "certificate.json");
  }

  refresher(partId = "part"): CertificateRefresher {
    const { clock, log, path } = this;
    const certificate = () => {
      this.asked++;
      const { answer } = this;
      if (answer instanceof ConnectError) return Promise.reject(answer);
      const fields = { id: "part", tlsCertificate: answer, tlsPrivateKey: `key of ${answer}` };
      return Promise.resolve(create(CertificateResponseSchema, fields));
    };
    return new CertificateRefresher({ client: { certificate }, partId, path, clock, log });
  }
}

function test(name: string, fn: (rig: Rig) => Promise<void>): void {
  Deno.test(name, async () => {
    const dir = await Deno.makeTempDir({ prefix: "machine-server-test-" });
    await fn(new Rig(dir)).finally(() => Deno.remove(dir, { recursive: true }));
  });
}

test("CertificateRefresher keeps the certificate for starts without the cloud", async (rig) => {
  const first = { cert: "first", key: "key of first" };
  assert.deepEqual(await rig.refresher().first(), first);
  if (Deno.build.os !== "windows") {
    assert.equal(((await Deno.stat(rig.path)).mode ?? 0) & 0o777, 0o600);
  }
  rig.answer = new ConnectError("gone", Code.Unavailable);
  assert.deepEqual(await rig.refresher().first(), first);
  await Deno.writeTextFile(rig.path, "{torn");
  assert.equal(await rig.refresher().first(), undefined);
});

test("CertificateRefresher keeps no certificate for another part", async (rig) => {
  await rig.refresher().first();
  rig.answer = new ConnectError("gone", Code.Unavailable);
  assert.equal(await rig.refresher("other").first(), undefined);
  assert.equal((await rig.refresher().first())?.cert, "first");
  rig.answer = "second";
  assert.equal((await rig.refresher("other").first())?.cert, "second");
  rig.answer = new ConnectError("gone", Code.Unavailable);
  assert.equal(await rig.refresher().first(), undefined);
});

test("CertificateRefresher asks each hour and tells of a renewed certificate once", async (rig) => {
  const refresher = rig.refresher();
  await refresher.first();
  const told: string[] = [];
  const stop = new AbortController();
  const running = refresher.run(stop.signal, ({ cert }) => {
    told.push(cert);
    return Promise.resolve();
  });
  const hour = async () => {
    const before = rig.asked;
    await waitFor(async () => {
      await rig.clock.advance(3_600_000);
      return rig.asked > before;
    }, { deadlineMs: 60_000 });
  };
  await hour();
  assert.deepEqual(told, []);
  rig.answer = new ConnectError("gone", Code.Unavailable);
  await hour();
  rig.answer = "second";
  await hour();
  await waitFor(() => told.length > 0, { deadlineMs: 60_000 });
  await hour();
  assert.deepEqual(told, ["second"]);
  stop.abort();
  await running;
});

test("CertificateRefresher starts with a kept certificate that is valid, and asks then", async (rig) => {
  const cert = await Deno.readTextFile(
    new URL("../../../shared/rpc/testdata/cert.pem", import.meta.url),
  );
  rig.answer = cert;
  await rig.refresher().first();
  const refresher = rig.refresher();
  assert.equal((await refresher.first())?.cert, cert);
  assert.equal(rig.asked, 1);
  rig.answer = "renewed";
  const changed = Promise.withResolvers<string>();
  const stop = new AbortController();
  const running = refresher.run(stop.signal, (issued) => {
    changed.resolve(issued.cert);
    return Promise.resolve();
  });
  assert.equal(await changed.promise, "renewed");
  stop.abort();
  await running;
});

test("CertificateRefresher says plainly when the cloud issues none", async (rig) => {
  rig.answer = new ConnectError("none here", Code.FailedPrecondition);
  assert.equal(await rig.refresher().first(), undefined);
  assert.match(rig.log.messages().join("\n"), /gives no certificate for this machine: .*none here/);
});

import assert from "node:assert/strict";
import { utf8 } from "../bytes/utf8.ts";
import { LogQueue } from "../log/log_queue.ts";
import { RpcError } from "../rpc/errors.ts";
import { FakeHost } from "../testing.ts";
import type { Certificate } from "../serving/port.ts";
import { Certificates, type CertificatesOptions } from "./certificates.ts";

const HOUR = 60 * 60_000;

function setUp(host = new FakeHost()) {
  const used: string[] = [];
  const state = { issued: "first", asked: 0, error: undefined as RpcError | undefined };
  const certificates = new Certificates({
    host,
    client: {
      credentials: { partId: "part" },
      call(_path: string, input: { id: string }) {
        assert.equal(input.id, "part");
        state.asked++;
        if (state.error) return Promise.reject(state.error);
        return Promise.resolve({ tlsCertificate: state.issued, tlsPrivateKey: "key" });
      },
    },
    log: new LogQueue(host),
    use: ({ certificate, privateKey }: Certificate) =>
      void used.push(`${certificate} ${privateKey}`),
  } as unknown as CertificatesOptions);
  return { host, used, state, certificates };
}

Deno.test("Certificates keeps what the cloud issues, and takes another one within an hour", async () => {
  const { host, used, state, certificates } = setUp();
  certificates.start();
  await host.advance(0);
  assert.deepEqual(used, ["first key"]);
  await host.advance(HOUR);
  assert.deepEqual([used.length, state.asked], [1, 2]);
  state.issued = "second";
  await host.advance(HOUR);
  assert.deepEqual(used, ["first key", "second key"]);
  certificates.close();
  await host.advance(HOUR);
  assert.equal(state.asked, 3);

  // It is there before the cloud is reached.
  const again = setUp(host);
  again.state.error = new RpcError("unavailable", "no network");
  again.certificates.start();
  assert.deepEqual(again.used, ["second key"]);
  await host.advance(HOUR);
  assert.deepEqual(host.lines.filter((line) => line.startsWith("warn")), []);
  again.certificates.close();
});

Deno.test("Certificates asks again soon when it gets none, and reports it once", async () => {
  const { host, used, state, certificates } = setUp();
  state.error = new RpcError("unimplemented", "not here");
  host.flashed.set("certificate", utf8("{ torn"));
  certificates.start();
  await host.advance(5 * 60_000);
  assert.ok(state.asked > 5, `${state.asked}`);
  const lines = host.lines.filter((line) => line.includes("no new certificate"));
  assert.equal(lines.length, 1);
  state.error = undefined;
  await host.advance(2 * 60_000);
  assert.deepEqual(used, ["first key"]);
  certificates.close();
});

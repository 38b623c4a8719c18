import assert from "node:assert/strict";
import type { Host } from "../host/host.ts";
import { LogQueue } from "../log/log_queue.ts";
import { FakeHost } from "../testing.ts";
import { Port } from "./port.ts";
import type { Services } from "./services.ts";

const FIRST = { certificate: "first", privateKey: "key" };
const SECOND = { certificate: "second", privateKey: "key" };

function setUp({ wantsTls = true, port = 0 } = {}) {
  const host = new FakeHost();
  /** Ports as they were opened, and `closed`. */
  const did: string[] = [];
  const listen: Host["listen"] = ({ port, tls }) => {
    if (tls?.certificate === "broken") throw new Error("the certificate is not PEM");
    did.push(`${port} ${tls?.certificate ?? "plain"}`);
    return { port: port || 5000, close: () => void did.push("closed") };
  };
  Object.assign(host, { listen });
  const opened = new Port({
    ...{ host, port, wantsTls, title: "t", log: new LogQueue(host) },
    services: {} as Services,
  });
  return { host, did, port: opened };
}

Deno.test("Port opens with a certificate only, again at the same port with another one", () => {
  const { port, did, host } = setUp();
  port.start();
  assert.deepEqual([did, port.port], [[], 0]);
  assert.match(host.lines.join("\n"), /opens when the cloud has issued a certificate/);
  port.use(FIRST);
  port.use(FIRST);
  assert.deepEqual([did, port.port], [["0 first"], 5000]);
  port.use(SECOND);
  assert.deepEqual(did, ["0 first", "closed", "5000 second"]);
  port.close();
  port.use(FIRST);
  assert.deepEqual(did.at(-1), "closed");
});

Deno.test("Port is without TLS where that was decided, at the start or later", () => {
  const plain = setUp({ wantsTls: false, port: 8080 });
  plain.port.start();
  plain.port.configure({ noTls: true });
  assert.deepEqual(plain.did, ["8080 plain"]);

  const { port, did } = setUp();
  port.use(FIRST);
  port.configure({ noTls: true });
  port.start();
  port.configure({ noTls: false });
  assert.deepEqual(did, ["0 plain", "closed", "5000 first"]);
});

Deno.test("Port tries again with the next certificate where one cannot be used", () => {
  const { port, did, host } = setUp({ port: 8080 });
  port.start();
  port.use({ certificate: "broken", privateKey: "key" });
  assert.match(host.lines.join("\n"), /nobody can call: port 8080: the certificate is not PEM/);
  port.use(FIRST);
  assert.deepEqual(did, ["8080 first"]);
});

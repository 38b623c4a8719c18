import assert from "node:assert/strict";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { lazyTransport } from "./lazy_transport.ts";

class Made {
  attempts = 0;
  closed = 0;
  failure: Error | undefined;
  readonly transport = lazyTransport(() => {
    this.attempts++;
    if (this.failure) return Promise.reject(this.failure);
    const transport = createRouterTransport(({ service }) =>
      service(SensorService, { getReadings: () => ({}) })
    );
    return Promise.resolve({ ...transport, close: () => void this.closed++ });
  });

  async call(): Promise<void> {
    await createClient(SensorService, this.transport).getReadings({ name: "s" });
  }
}

Deno.test("lazyTransport() makes the transport once, with the first call", async () => {
  const made = new Made();
  assert.equal(made.attempts, 0);
  await Promise.all([made.call(), made.call()]);
  await made.call();
  assert.equal(made.attempts, 1);
});

Deno.test("lazyTransport() makes it again after a failure", async () => {
  const made = new Made();
  made.failure = new Error("no such module");
  await assert.rejects(made.call(), /no such module/);
  made.failure = undefined;
  await made.call();
  assert.equal(made.attempts, 2);
});

Deno.test("lazyTransport() closes what was made, and makes nothing afterwards", async () => {
  const unused = new Made();
  unused.transport.close();
  await assert.rejects(
    unused.call(),
    (error) => error instanceof ConnectError && error.code === Code.Canceled,
  );
  assert.equal(unused.attempts, 0);
  const used = new Made();
  const call = used.call();
  used.transport.close();
  await call;
  assert.equal(used.closed, 1);
});

import assert from "node:assert/strict";
import { RpcError } from "../rpc/errors.ts";
import { FakeHost, turns } from "../testing.ts";
import { CloudClient, type Credentials } from "./cloud_client.ts";

const CREDENTIALS: Credentials = {
  origin: { host: "cloud.test", port: 443, tls: true },
  partId: "part",
  entity: "part",
  type: "robot-secret",
  payload: "secret",
};
const CALL = "/viam.app.v1.RobotService/Config";

/** What fails as the engine does where it has no memory for an error: it throws null. */
for (const when of ["it connects", "an answer comes"] as const) {
  Deno.test(`CloudClient says that there was no memory when ${when}`, async () => {
    const host = new FakeHost();
    const fail = (): never => {
      throw null;
    };
    host.connect = (_origin, events) => {
      if (when === "it connects") fail();
      host.setTimer(0, () => events.onOpen?.());
      if (when === "an answer comes") {
        host.setTimer(1, () =>
          events.onData(
            {
              get length() {
                return fail();
              },
            } as never,
          ));
      }
      return { write: () => true, end: () => {}, destroy: () => {} };
    };
    const client = new CloudClient(host, CREDENTIALS);
    const said = client.call(CALL, {}).then(() => "an answer", (error: unknown) => {
      assert.ok(error instanceof RpcError, String(error));
      return `${error.code}: ${error.message}`;
    });
    await host.advance(10).catch((error: unknown) => assert.equal(error, null));
    await turns();
    await host.advance(60_000);
    assert.equal(await said, "unavailable: out of memory");
  });
}

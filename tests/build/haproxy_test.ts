/** The load balancer of deploy/compose in front of nodes that trust it, by HAProxy itself. */
import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { AddressList } from "../../shared/rpc/server/address_list.ts";
import { withServer } from "../../shared/rpc/testing.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { programPath } from "../../shared/test_tools/tools.ts";
import { ROOT } from "../../tools/programs.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const CALLER = "127.0.0.9";

/** What is answered to a request from {@link CALLER}; undefined when nothing is. */
async function ask(port: number): Promise<string | undefined> {
  const signal = AbortSignal.timeout(90_000);
  const options = { host: "127.0.0.1", port, localAddress: CALLER, agent: false, signal };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(options, resolve).on("error", reject);
    });
    return await text(response);
  } catch {
    return undefined;
  }
}

Deno.test({
  name: "deploy/compose/haproxy.cfg passes on who calls, and its checks are answered",
  ignore: ignoreWithout(import.meta.url, "haproxy"),
  async fn() {
    const asked = { checks: 0 };
    const http = (request: Request, peer: { address: string; local: boolean }) => {
      if (new URL(request.url).pathname === "/readyz") asked.checks++;
      return new Response(`${peer.address} ${peer.local}`);
    };
    const refused: string[] = [];
    const onRefused = (_address: string, reason: string) => refused.push(reason);
    const options = { http, onRefused, balancers: new AddressList(["127.0.0.1"]) };
    await withServer(options, async (_url, { address }) => {
      const port = freePort();
      const config = (await Deno.readTextFile(join(ROOT, "deploy/compose/haproxy.cfg")))
        .replace("bind :8080", `bind 127.0.0.1:${port}`)
        .replaceAll(/^ {2}server (one|two) .*:8080/gm, `  server $1 127.0.0.1:${address.port}`);
      const file = await Deno.makeTempFile({ prefix: "machine-haproxy-", suffix: ".cfg" });
      await Deno.writeTextFile(file, config);
      const haproxy = new Deno.Command(programPath("haproxy")!, {
        args: ["-f", file],
        stdout: "null",
        stderr: "null",
      }).spawn();
      const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
      try {
        await waitFor(async () => await ask(port) === `${CALLER} false`, { deadlineMs: 60_000 });
        let peer = "";
        // A check that a busy host answers late takes a node out until the next one.
        const asks = async () => {
          try {
            const { readings } = await createClient(SensorService, transport)
              .getReadings({ name: "peer" });
            peer = String(readings["peer"]?.kind.value);
          } catch (error) {
            if (ConnectError.from(error).code !== Code.Unavailable) throw error;
          }
          return peer !== "";
        };
        await waitFor(asks, { deadlineMs: 60_000, what: "an answer of the sensor" });
        const { address, local } = JSON.parse(peer);
        assert.deepEqual([address, local], ["127.0.0.1", false]);
        await waitFor(() => asked.checks >= 4, { deadlineMs: 60_000 });
        await waitFor(async () => await ask(port) === `${CALLER} false`, {
          ...{ deadlineMs: 60_000, what: "an answer after the checks" },
        });
        assert.deepEqual(refused, []);
      } finally {
        transport.close();
        haproxy.kill("SIGKILL");
        await haproxy.status;
        await Deno.remove(file);
      }
    });
  },
});

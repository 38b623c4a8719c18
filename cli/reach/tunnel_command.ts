import { toError } from "../../shared/base/errors/to_error.ts";
import { partArgument } from "../../shared/commands/choice/part.ts";
import { createClient } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import {
  command,
  type CommandContext,
  type CommandTree,
} from "../../shared/commands/run/command.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { LastingWay, reach, reachFlags } from "./reach.ts";

const CHUNK_BYTES = 32 * 1024;
/** Connections at the same time; the machine takes no more than that either. */
const MOST = 100;

/** Ways to ports of machines. */
export function tunnelCommands(stop: AbortSignal): CommandTree {
  return {
    "tunnel": command({
      summary: "Listen on a port here and pass connections on to a port of a machine.",
      flags: reachFlags,
      arguments: [
        partArgument,
        { placeholder: "[LOCAL:]PORT", doc: "The machine's port, and the one here. Default: any." },
      ],
      footer: "The machine's configuration names the ports: " +
        '{"network": {"traffic_tunnel_endpoints": [{"port": 22}]}}',
      async run(context, { values, arguments: [wanted = "", ports = ""] }) {
        const [local, port] = portsOf(ports);
        await using way = new LastingWay(() => reach(context, wanted, values.address));
        const machine = await way.machine();
        const { tunnels } = await createClient(RobotService, machine.transport).listTunnels({});
        if (!tunnels.some((each) => each.port === port)) {
          const there = tunnels.map((each) => each.port).join(", ") || "none";
          throw new Error(
            `${machine.part.name} opens no tunnel to port ${port}, but to ${there}; add it to its ` +
              `configuration: {"network": {"traffic_tunnel_endpoints": [{"port": ${port}}]}}`,
          );
        }
        const listener = listen(local);
        const close = () => listener.close();
        stop.addEventListener("abort", close, { once: true });
        const at = `127.0.0.1:${listener.addr.port}`;
        const json = `${JSON.stringify({ address: at, port })}\n`;
        const text = context.json ? json : `${at} leads to port ${port} of ${machine.part.name}\n`;
        await context.write(new TextEncoder().encode(text));
        let open = 0;
        for await (const connection of listener) {
          if (open >= MOST) {
            connection.close();
            continue;
          }
          open++;
          void pass(context, way, connection, port).finally(() => open--);
        }
      },
    }),
  };
}

function listen(port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new UsageError(`port ${port} of this host is in use; name another one: LOCAL:PORT`);
  }
}

function portsOf(text: string): [number, number] {
  const [, local = "0", port = ""] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? [];
  if (port !== "" && Number(port) > 0 && Number(port) < 65_536 && Number(local) < 65_536) {
    return [Number(local), Number(port)];
  }
  throw new UsageError(`${JSON.stringify(text)} is no port; write PORT or LOCAL:PORT, as 2222:22`);
}

/** One connection, to its end. Never rejects. */
async function pass(
  context: CommandContext,
  way: LastingWay,
  connection: Deno.TcpConn,
  port: number,
): Promise<void> {
  async function* sent() {
    yield { destinationPort: port };
    for (;;) {
      const buffer = new Uint8Array(CHUNK_BYTES);
      const count = await connection.read(buffer).catch(() => null);
      if (count === null) return;
      yield { data: buffer.subarray(0, count) };
    }
  }
  try {
    const client = createClient(RobotService, (await way.machine()).transport);
    for await (const { data } of client.tunnel(sent())) {
      for (let at = 0; at < data.length;) at += await connection.write(data.subarray(at));
    }
  } catch (error) {
    context.warn(
      `a connection was closed: ${toError(error).message}`,
    );
  } finally {
    connection.close();
  }
}

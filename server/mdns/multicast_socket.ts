/** {@link GroupSocket} with the library multicast-dns. */
import { createSocket } from "node:dgram";
import type { Packet } from "dns-packet";
import multicastDns from "multicast-dns";
import type { GroupHandlers, GroupSocket } from "./group_socket.ts";
import { MDNS_PORT, type Sender } from "./messages.ts";

const GROUP = "224.0.0.251";
/**
 * Longest message (RFC 6762, 17). Deno takes as much memory for each one that it reads; with its
 * default of 64 KiB a few hundred messages of others cost 15 MB.
 */
const LONGEST_MESSAGE = 9_000;

/** The port is shared with other responders on this computer, as avahi-daemon. */
export function openMulticastSocket(address: string, handlers: GroupHandlers): GroupSocket {
  const socket = createSocket({
    type: "udp4",
    reuseAddr: true,
    recvBufferSize: LONGEST_MESSAGE,
  });
  const mdns = multicastDns({ socket, interface: address, bind: "0.0.0.0", port: MDNS_PORT });
  let closed: Promise<void> | undefined;
  const close = () =>
    closed ??= new Promise<void>((resolve) => {
      try {
        mdns.destroy(resolve);
      } catch {
        resolve(); // It was never bound.
      }
    });
  mdns.on("error", (error: Error) => {
    if (closed) return;
    void close();
    handlers.failed(error);
  });
  // A message that is none, or an interface without the group: neither harms.
  mdns.on("warning", () => {});
  mdns.on("packet", (message: Packet, { address, port }: Sender) => {
    if (closed) return;
    try {
      handlers.heard(message, { address, port });
    } catch {
      // Whatever a stranger sends: the library throws it at the process otherwise.
    }
  });
  return {
    send: (message, to) =>
      new Promise((resolve, reject) => {
        const done = (error: Error | null) => error ? reject(error) : resolve();
        try {
          // The types know no questions of the type ANY.
          const { questions = [], answers = [], ...rest } = message as Packet;
          if (message.type === "query") mdns.query({ ...rest, questions }, done);
          else mdns.respond({ ...rest, questions, answers }, to, done);
        } catch (error) {
          reject(error);
        }
      }),
    refresh: () => {
      for (
        const rejoin of [
          () => socket.addMembership(GROUP, address),
          () => socket.setMulticastInterface(address),
        ]
      ) {
        try {
          rejoin();
        } catch {
          // It is a member already, or the link is gone: the next look at the links says so.
        }
      }
    },
    close,
  };
}

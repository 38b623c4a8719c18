/** Addresses at TURN servers (RFC 8656), with the TURN client of werift. */
import {
  classes,
  Message,
  methods,
  type Protocol,
  StunOverTurnProtocol,
  TcpTransport,
  TlsTransport,
  type Transport,
  TurnProtocol,
} from "werift";
import type { HostPort, TurnServer } from "./ice_servers.ts";
import { UdpSocket } from "./udp_socket.ts";
import type { StreamTransport } from "./werift_internals.ts";

const LIFETIME_S = 600;
/**
 * How often an address of the peer is named again. A server forgets it after 300 s
 * (RFC 8656, section 9); werift's own 500 s are for the channel alone.
 */
const CHANNEL_REFRESH_S = 240;
const CONNECT_MS = 8_000;
/** werift itself would repeat its request for a minute. */
const ALLOCATE_MS = 10_000;

/**
 * What waits at most for a TURN server on TCP or TLS that takes it slowly or not at all: a second of
 * the largest video. More is lost, as it would be over UDP.
 */
export const MOST_WAITING_BYTES = 1024 * 1024;

/** An address at a TURN server under which we can be reached. */
export interface Relay {
  readonly protocol: Protocol;
  readonly address: HostPort;
  /** Where the server sees us. */
  readonly base: HostPort;
  /** Gives the address back, also while it is only requested. */
  close: () => void;
}

/**
 * Requests an address. The relay is in `relays` from the start, so that it can be closed at any
 * time.
 *
 * @param isClosed whether nobody wants it any more.
 * @throws Error when the server refuses or does not answer.
 */
export async function allocateRelay(
  server: TurnServer,
  relays: Set<Relay>,
  isClosed: () => boolean,
): Promise<Relay> {
  const transport = await openTransport(server);
  const { address, username, credential } = server;
  const turn = new TurnProtocol(address, username, credential, LIFETIME_S, transport, {
    channelRefreshTime: CHANNEL_REFRESH_S,
  });
  const relay: Relay = {
    protocol: new StunOverTurnProtocol(turn),
    get address() {
      return turn.relayedAddress;
    },
    get base() {
      return turn.mappedAddress;
    },
    close: () => {},
  };
  relays.add(relay);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`no answer within ${ALLOCATE_MS} ms`));
    timer = setTimeout(giveUp, ALLOCATE_MS);
    relay.close = () => {
      for (const transaction of Object.values(turn.transactions)) transaction.cancel();
      giveBack(turn);
      relay.protocol.close().catch(() => {});
      reject(new Error("closed"));
    };
  });
  tooLong.catch(() => {});
  if (isClosed()) relay.close();
  try {
    await Promise.race([turn.connectionMade(), tooLong]);
    return relay;
  } catch (error) {
    relay.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks the server to forget an address at once. It is queried once: where that is lost, or there is
 * no address, the server forgets automatically after {@link LIFETIME_S}.
 */
function giveBack(turn: TurnProtocol): void {
  const { integrityKey, realm, nonce, serverEndpoint, transport, username } = turn;
  if (!integrityKey || !turn.relayedAddress || !serverEndpoint || transport.type !== "udp") return;
  const request = new Message(methods.REFRESH, classes.REQUEST);
  request
    .setAttribute("LIFETIME", 0)
    .setAttribute("USERNAME", username)
    .setAttribute("REALM", realm)
    .setAttribute("NONCE", nonce)
    .addMessageIntegrity(integrityKey)
    .addFingerprint();
  transport.send(request.bytes, serverEndpoint).catch(() => {});
}

async function openTransport({ address, transport }: TurnServer): Promise<Transport> {
  const options = { connectTimeoutMs: CONNECT_MS };
  const [host, port] = address;
  switch (transport) {
    case "udp":
      return await UdpSocket.open();
    case "tcp":
      return atOnce(await TcpTransport.init([host, port], options));
    case "tls":
      return atOnce(await TlsTransport.init([host, port], { servername: host }, options));
  }
}

/** Lets no datagram wait for the answer to the one before, and loses what the server does not take. */
function atOnce(transport: TcpTransport | TlsTransport): Transport {
  const { stream } = transport as unknown as StreamTransport;
  stream.client.setNoDelay(true);
  const { send } = transport;
  transport.send = async (data, to) => {
    if (stream.client.writableLength >= MOST_WAITING_BYTES) return;
    // What waited when the connection ended is lost, too; werift expects no error.
    await send(data, to).catch(() => {});
  };
  return transport as Transport;
}

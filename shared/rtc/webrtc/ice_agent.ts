/** Finds a way to the peer (ICE, RFC 8445) with the ICE agent of werift. */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Candidate,
  candidateFoundation,
  CandidatePairState,
  candidatePriority,
  Connection,
  parseMessage,
  serverReflexiveCandidate,
  StunProtocol,
} from "werift";
import type { Logger } from "../../log/logger.ts";
import { hostAddresses } from "./host_addresses.ts";
import type { HostPort, UsableServers } from "./ice_servers.ts";
import { allocateRelay, type Relay } from "./turn_relay.ts";
import { UdpSocket } from "./udp_socket.ts";
import type { HostProtocol, IceConnection, Message, Protocol } from "./werift_internals.ts";

/** Own addresses that are offered; each has a socket. */
const MOST_ADDRESSES = 8;
/** Candidates of the peer that are looked at; the others are left out. */
const MOST_REMOTE_CANDIDATES = 100;
const LOOPBACK = "127.0.0.1";
/** Of `candidatePriority`: what werift gives each address. */
const PREFERENCE = 8191;

/** The way to the peer. */
export interface Way {
  /** Both ends are on this host. */
  readonly sameHost: boolean;
  /** Seconds to the peer and back. */
  readonly roundTripS: number;
}

/** What the agent reports. */
export interface IceEvents {
  /** A candidate was found: its line, from `candidate:` on. */
  candidate(line: string): void;
  connected(way: Way): void;
  /** A datagram of DTLS. */
  datagram(data: Buffer): void;
  /** A datagram of RTP or RTCP. */
  media(data: Buffer): void;
  /** There is no way any more, in words. */
  lost(reason: string): void;
}

/** One agent. Nothing throws later than its methods say. */
export class IceAgent {
  readonly ufrag: string;
  readonly password: string;
  readonly #ice: IceConnection;
  readonly #events: IceEvents;
  readonly #log: Logger;
  readonly #relays = new Set<Relay>();
  readonly #sockets: UdpSocket[] = [];
  /** Candidates of the peer that came before its credentials, without which a check fails. */
  #early: Candidate[] | undefined = [];
  #connecting: Promise<void> = Promise.resolve();
  #again: ReturnType<typeof setInterval> | undefined;
  #closed = false;
  #isReached = false;

  constructor(controlling: boolean, events: IceEvents, log: Logger) {
    this.#events = events;
    this.#log = log;
    const ice = new Connection(controlling, { useIpv6: false });
    this.#ice = ice as unknown as IceConnection;
    // werift's own have 16 and 88 random bits; RFC 8445 wants 24 and 128.
    this.ufrag = this.#ice.localUsername = randomBytes(6).toString("base64");
    this.password = this.#ice.localPassword = randomBytes(24).toString("base64");
    this.#ice.userHistory = { [this.ufrag]: this.password };
    this.#ice.onData.subscribe((data) => this.#arrived(data));
    this.#ice.stateChanged.subscribe((state) => {
      if (state === "failed") events.lost("the peer has not answered for 30 s");
    });
  }

  #arrived(data: Buffer): void {
    if (isDtls(data)) this.#events.datagram(data);
    else if (isMedia(data)) this.#events.media(data);
  }

  /** Lines of all own candidates so far. */
  get candidates(): string[] {
    return this.#ice.localCandidates.map(candidateLine);
  }

  /**
   * Opens a socket for each own address, loopback too.
   *
   * @throws Error of the system, when not one socket could be opened.
   */
  async gatherHosts(): Promise<void> {
    const addresses = [...hostAddresses().slice(0, MOST_ADDRESSES - 1), LOOPBACK];
    this.#ice.localCandidatesStart = true;
    const opened = await Promise.allSettled(
      addresses.map((address, index) => this.#openHost(address, PREFERENCE - index)),
    );
    const failed = opened.find((result) => result.status === "rejected");
    if (opened.every((result) => result.status === "rejected")) throw failed?.reason;
  }

  /** Asks STUN and TURN servers for further candidates. Never rejects; takes a minute at most. */
  async gatherServers({ stun, turn }: UsableServers): Promise<void> {
    const hosts = this.#ice.protocols.filter((protocol) => protocol.localIp !== LOOPBACK);
    await Promise.all([
      ...stun.flatMap((server) => hosts.map((host) => this.#askStun(host, server))),
      ...turn.map(async (server) => {
        try {
          await this.#addRelay(await allocateRelay(server, this.#relays, () => this.#closed));
        } catch (error) {
          this.#log.debug("a TURN server gave no address", {
            server: server.address.join(":"),
            error: String(error),
          });
        }
      }),
    ]);
  }

  /** Takes the peer's credentials and begins to look for a way. */
  connect(remote: { ufrag: string; password: string; iceLite: boolean }): void {
    this.#ice.setRemoteParams({
      usernameFragment: remote.ufrag,
      password: remote.password,
      iceLite: remote.iceLite,
    });
    // werift continues looking until there is a way: it is never notified that there are no more
    // candidates, because addresses that it cannot know yet may still call.
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const candidate of early) this.#try(candidate);
    this.#again = setInterval(() => this.#checkAgain(), CHECK_AGAIN_MS);
    this.#reportAtOnce();
    this.#connecting = this.#ice.connect().then(() => this.#reached(), (error) => {
      if (!this.#closed) this.#events.lost(`no way to the peer: ${error.message}`);
    });
  }

  /**
   * Takes a candidate. What cannot be reached from here is left out: TCP, IPv6, and names of
   * multicast DNS (the browser behind one calls us, and is known from then on).
   *
   * @throws {ConnectError} INVALID_ARGUMENT when it cannot be read.
   */
  addCandidate(line: string): void {
    const candidate = readCandidate(line);
    if (candidate.transport.toLowerCase() !== "udp" || isIP(candidate.host) !== 4) return;
    if (!this.#early) this.#try(candidate);
    else if (this.#early.length < MOST_REMOTE_CANDIDATES) this.#early.push(candidate);
  }

  /** Takes long datagrams from now on, which peers of ours send inside a host. */
  takeLargeDatagrams(): void {
    for (const socket of this.#sockets) socket.takeLarge();
  }

  /** Sends a datagram; lost when there is no way. */
  send(data: Buffer): void {
    this.#ice.send(data).catch(() => {});
  }

  /** Closes all sockets and ends all timers. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#again);
    const closed = this.#ice.close();
    for (const relay of this.#relays) relay.close();
    await Promise.all([closed, Promise.race([this.#connecting, pause(LOOP_MS)])]);
  }

  /** werift finds a way, but looks only every 20 ms whether it has. */
  #reportAtOnce(): void {
    const ice = this.#ice;
    const { checkComplete } = ice;
    ice.checkComplete = (pair) => {
      checkComplete.call(ice, pair);
      if (!ice.nominated || this.#closed || this.#isReached) return;
      ice.queryConsent();
      ice.setState("connected");
      this.#reached();
    };
  }

  #reached(): void {
    const pair = this.#ice.nominated;
    clearInterval(this.#again);
    if (this.#closed || !pair || this.#isReached) return;
    this.#isReached = true;
    // Addresses of a NAT or a TURN server may be those of the peer, too.
    const own = this.#ice.localCandidates.filter(({ type }) => type === "host")
      .map(({ host }) => host);
    this.#events.connected({
      sameHost: own.includes(pair.remoteCandidate.host),
      roundTripS: pair.rtt ?? 0,
    });
  }

  #try(candidate: Candidate): void {
    const known = this.#ice.remoteCandidates;
    if (known.length >= MOST_REMOTE_CANDIDATES || this.#knows([candidate.host, candidate.port])) {
      return;
    }
    this.#ice.addRemoteCandidate(candidate).catch(() => {});
  }

  /** werift gives a pair up after 1.5 s; the peer may only learn of us later. */
  #checkAgain(): void {
    for (const pair of this.#ice.candidatePairs) {
      if (pair.state === CandidatePairState.FAILED) {
        pair.updateState(CandidatePairState.WAITING);
      }
    }
  }

  async #openHost(address: string, preference: number): Promise<void> {
    const socket = await UdpSocket.open();
    if (this.#closed) return await socket.close();
    this.#sockets.push(socket);
    const protocol = new StunProtocol() as unknown as HostProtocol;
    protocol.transport = socket;
    protocol.localIp = address;
    socket.onData = (data, from) => {
      if (isStun(data)) protocol.datagramReceived(data, from);
      else if (this.#knows(from)) this.#arrived(data);
    };
    const priority = candidatePriority("host", { transport: "udp", otherPreference: preference });
    this.#add(
      protocol,
      new Candidate(
        candidateFoundation("host", "udp", address),
        1,
        "udp",
        priority,
        address,
        socket.address.port,
        "host",
        undefined,
        undefined,
        undefined,
        0,
        this.ufrag,
      ),
    );
  }

  async #askStun(host: Protocol, server: HostPort): Promise<void> {
    const candidate = await serverReflexiveCandidate(host, server).catch(() => undefined);
    if (!candidate || this.#closed) return;
    const known = this.#ice.localCandidates;
    if (known.some((own) => own.host === candidate.host && own.port === candidate.port)) return;
    this.#ice.appendLocalCandidate(candidate);
    this.#events.candidate(candidateLine(candidate));
  }

  #addRelay({ protocol, address, base }: Relay): void {
    if (this.#closed) return;
    this.#add(
      protocol,
      new Candidate(
        candidateFoundation("relay", "udp", address[0]),
        1,
        "udp",
        candidatePriority("relay"),
        address[0],
        address[1],
        "relay",
        base[0],
        base[1],
        undefined,
        0,
        this.ufrag,
      ),
    );
    this.#events.candidate(candidateLine(protocol.localCandidate!));
  }

  #add(protocol: Protocol, candidate: Candidate): void {
    protocol.localCandidate = candidate;
    const { execute } = protocol.onRequestReceived;
    protocol.onRequestReceived.execute = (message, from, data) => {
      if (this.#accepts(message, from, data)) execute(message, from, data);
    };
    this.#ice.ensureProtocol(protocol);
    this.#ice.protocols.push(protocol);
    this.#ice.pairLocalProtocol(protocol);
    this.#ice.appendLocalCandidate(candidate);
  }

  /** Whether a check comes from one who knows our password, which werift does not look at. */
  #accepts(message: Message, from: HostPort, data: Buffer): boolean {
    const pair = this.#ice.nominated as { requestTransactionIds?: Set<string> } | undefined;
    // werift keeps the number of each check of the peer forever.
    if ((pair?.requestTransactionIds?.size ?? 0) > 1_000) pair?.requestTransactionIds?.clear();
    return String(message.getAttributeValue("USERNAME")).split(":")[0] === this.ufrag &&
      message.attributesKeys.includes("MESSAGE-INTEGRITY") &&
      parseMessage(data, Buffer.from(this.password)) !== undefined &&
      (this.#knows(from) || this.#ice.remoteCandidates.length < MOST_REMOTE_CANDIDATES);
  }

  #knows([host, port]: HostPort): boolean {
    return this.#ice.remoteCandidates.some((known) => known.host === host && known.port === port);
  }
}

/** werift's loop looks at its state every 20 ms. */
const LOOP_MS = 30;
const CHECK_AGAIN_MS = 2_000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

// RFC 7983: what the first byte of a datagram says.
function isStun(data: Buffer): boolean {
  return (data[0] ?? 255) < 4;
}

function isDtls(data: Buffer): boolean {
  const [first = 0] = data;
  return first > 19 && first < 64;
}

function isMedia(data: Buffer): boolean {
  const [first = 0] = data;
  return first > 127 && first < 192;
}

function candidateLine(candidate: Candidate): string {
  return `candidate:${candidate.toSdp()}`;
}

/** `candidate:<foundation> <component> <transport> <priority> <address> <port> typ <type> …` */
function readCandidate(line: string): Candidate {
  const text = line.replace(/^a=/, "").replace(/^candidate:/, "");
  if (/^\S+ \d+ \S+ \d+ \S+ \d+ typ \S+( |$)/.test(text) && text.length < 1_000) {
    const candidate = Candidate.fromSdp(text);
    // Of another generation than ours, werift would never use it.
    candidate.generation = 0;
    if (candidate.port < 65_536) return candidate;
  }
  throw new ConnectError(
    `"${line.slice(0, 100)}" is no ICE candidate; it has the form ` +
      '"candidate:<foundation> <component> udp <priority> <address> <port> typ <type>"',
    Code.InvalidArgument,
  );
}

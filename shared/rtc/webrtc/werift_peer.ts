/** Puts ICE, DTLS and SCTP together to a connection. */
import { randomBytes } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Logger } from "../../log/logger.ts";
import type { Clock } from "../../base/time/clock.ts";
import {
  type LocalDescription,
  parseDescription,
  type RemoteDescription,
  writeAnswer,
  writeOffer,
} from "./data_channel_sdp.ts";
import { readIceServers } from "./ice_servers.ts";
import { createCertificate, type OwnCertificate } from "./own_certificate.ts";
import type { RtcOptions, RtcPeer, RtcPeers } from "./peer.ts";
import { type DtlsRole, PeerConnection } from "./peer_connection.ts";

/** What a {@link PeerFactory} needs. */
export interface PeerFactoryOptions {
  clock: Clock;
  log: Logger;
  openDeadlineMs: number;
}

/** Longest that an answer without trickle waits for STUN and TURN servers. */
const GATHER_MS = 2_000;
/** Longest that they are waited for at all. */
const TRICKLE_MS = 5_000;

/** Makes connections that show the same certificate. */
export class PeerFactory implements RtcPeers {
  readonly #options: PeerFactoryOptions;
  readonly #certificate: OwnCertificate = createCertificate();

  constructor(options: PeerFactoryOptions) {
    this.#options = options;
  }

  async answer(offerSdp: string, options: RtcOptions): Promise<{ peer: RtcPeer; sdp: string }> {
    options.signal.throwIfAborted();
    const offer = parseDescription(offerSdp);
    const role: DtlsRole = offer.setup === "active" ? "server" : "client";
    const connection = this.#connect(false, options);
    return await this.#orClose(connection, async () => {
      await connection.ice.gatherHosts();
      connection.accept(offer, role);
      const local = await this.#gather(connection, role, options);
      connection.negotiate(local);
      return { peer: connection, sdp: writeAnswer(local, offer) };
    });
  }

  async offer(
    options: RtcOptions,
  ): Promise<{ peer: RtcPeer; sdp: string; accept(answerSdp: string): Promise<void> }> {
    options.signal.throwIfAborted();
    const connection = this.#connect(true, options);
    return await this.#orClose(connection, async () => {
      await connection.ice.gatherHosts();
      const local = await this.#gather(connection, "either", options);
      let accepted: RemoteDescription | undefined;
      const accept = (answerSdp: string) => {
        if (accepted) {
          throw new ConnectError("the offer has its answer already", Code.FailedPrecondition);
        }
        accepted = parseDescription(answerSdp);
        const role: DtlsRole = accepted.setup === "passive" ? "client" : "server";
        connection.accept(accepted, role);
        connection.negotiate({ ...local, setup: setupOf(role) });
      };
      return {
        peer: connection,
        sdp: writeOffer(local),
        // deno-lint-ignore require-await
        accept: async (answerSdp) => accept(answerSdp),
      };
    });
  }

  #connect(isOfferer: boolean, { signal }: RtcOptions): PeerConnection {
    const { clock, log, openDeadlineMs } = this.#options;
    const certificate = this.#certificate;
    return new PeerConnection({ isOfferer, certificate, clock, log, openDeadlineMs, signal });
  }

  /** Gathers as long as the description may wait, and says what it holds then. */
  async #gather(
    connection: PeerConnection,
    role: DtlsRole | "either",
    { iceServers, trickle, signal }: RtcOptions,
  ): Promise<LocalDescription> {
    const { clock, log } = this.#options;
    const servers = readIceServers(iceServers);
    for (const problem of servers.problems) log.debug("an ICE server is left out", { problem });
    const gathering = connection.ice.gatherServers(servers);
    const complete = servers.stun.length + servers.turn.length === 0;
    if (!trickle && !complete) {
      await Promise.race([gathering, clock.sleep(GATHER_MS, connection.signal).catch(() => {})]);
    }
    signal.throwIfAborted();
    const local = {
      sessionId: String(randomBytes(6).readUIntBE(0, 6)),
      ufrag: connection.ice.ufrag,
      password: connection.ice.password,
      fingerprint: this.#certificate.fingerprint,
      setup: setupOf(role),
      candidates: connection.ice.candidates,
      complete: complete || !trickle,
    };
    if (trickle) {
      connection.trickleUntil(
        complete
          ? Promise.resolve()
          : Promise.race([gathering, clock.sleep(TRICKLE_MS, connection.signal).catch(() => {})]),
      );
    }
    return local;
  }

  async #orClose<T>(connection: PeerConnection, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await connection.close();
      throw error;
    }
  }
}

function setupOf(role: DtlsRole | "either"): LocalDescription["setup"] {
  return role === "either" ? "actpass" : role === "client" ? "active" : "passive";
}

/** Encrypts video (SRTP, RFC 3711) with keys of DTLS (RFC 5764), with the SRTP of werift. */
import type { Buffer } from "node:buffer";
import { type RtpPacket, SrtcpSession, SrtpSession } from "werift";

/** Keys of both directions. */
export interface SrtpKeys {
  readonly localKey: Buffer;
  readonly localSalt: Buffer;
  readonly remoteKey: Buffer;
  readonly remoteSalt: Buffer;
}

/** AES-128-CM with HMAC-SHA1-80. */
export const SRTP_PROFILE = 1;
export const SRTP_KEY_BYTES = 16;
export const SRTP_SALT_BYTES = 14;

/** Both directions of one connection. */
export class SrtpLink {
  readonly #rtp: SrtpSession;
  readonly #rtcp: SrtcpSession;

  constructor(keys: SrtpKeys) {
    const config = {
      keys: {
        localMasterKey: keys.localKey,
        localMasterSalt: keys.localSalt,
        remoteMasterKey: keys.remoteKey,
        remoteMasterSalt: keys.remoteSalt,
      },
      profile: SRTP_PROFILE,
    } as const;
    this.#rtp = new SrtpSession(config);
    this.#rtcp = new SrtcpSession(config);
  }

  /** The datagram of a packet. */
  protect({ payload, header }: RtpPacket): Buffer {
    return this.#rtp.encrypt(payload, header);
  }

  /** The datagram of a report. */
  protectReport(report: Buffer): Buffer {
    return this.#rtcp.encrypt(report);
  }

  /** A report of the peer; undefined when it is not from there. */
  readReport(datagram: Buffer): Buffer | undefined {
    try {
      return this.#rtcp.decrypt(datagram);
    } catch {
      return undefined;
    }
  }
}

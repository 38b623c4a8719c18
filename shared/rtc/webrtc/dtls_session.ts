/** Encrypts what goes between two ends of ICE (DTLS 1.2, RFC 6347), with the DTLS of werift. */
import { Buffer } from "node:buffer";
import { sign } from "node:crypto";
import { DtlsClient, DtlsServer, HashAlgorithm, SignatureAlgorithm, type Transport } from "werift";
import type { OwnCertificate } from "./own_certificate.ts";
import type { Fingerprint } from "./data_channel_sdp.ts";
import { HandshakeType, hasFingerprint, isFinished, isServersKey, isSigned } from "./dtls_proof.ts";
import { SRTP_KEY_BYTES, SRTP_PROFILE, SRTP_SALT_BYTES, type SrtpKeys } from "./srtp_link.ts";
import { DtlsRecords, HEADER_BYTES, type RecordKey, SALT_BYTES } from "./dtls_records.ts";
import type { Dtls, Handshake } from "./werift_internals.ts";

const ContentType = {
  changeCipherSpec: 20,
  alert: 21,
  handshake: 22,
  applicationData: 23,
} as const;
const HANDLED: readonly number[] = [20, 21, 22, 23];
const CLOSE_NOTIFY = Buffer.from([1, 0]);
const FATAL = 2;
/** Pieces of handshake messages that may wait for the others; a certificate has a few. */
const MOST_FRAGMENTS = 64;
/** A number behind all flights, with which werift stops to repeat one. */
const NO_FLIGHT = 99;
/** The one that all know (RFC 5764). */
const SRTP_PROFILES = [SRTP_PROFILE] as const;
/** The peer may need a moment until it listens; werift itself repeats after 500 ms. */
const REPEAT_MS = [50, 150];

/** What a session reports. */
export interface DtlsEvents {
  /** A datagram for the peer. */
  send(datagram: Buffer): void;
  /** The peer is who it should be. */
  open(): void;
  data(data: Buffer): void;
  /** It ended, in words. */
  ended(reason: string): void;
}

/** One session. */
export class DtlsSession {
  readonly #isClient: boolean;
  readonly #fingerprints: readonly Fingerprint[];
  readonly #events: DtlsEvents;
  readonly #dtls: Dtls;
  readonly #transport: Transport;
  /** Messages of the peer that are proofs, by type. */
  readonly #proofs = new Map<number, Handshake>();
  /** Numbers of the peer's messages. */
  readonly #seen = new Set<number>();
  /** Handshake work under way; it has timers. */
  readonly #work = new Set<Promise<void>>();
  /** What was sent while the peer had not said anything. */
  #unheard: Buffer | undefined;
  #heard = false;
  #repeats: ReturnType<typeof setTimeout>[] = [];
  #records: DtlsRecords | undefined;
  #open = false;
  #ended = false;

  /** A client begins at once. */
  constructor(
    { isClient, certificate, fingerprints, events }: {
      isClient: boolean;
      certificate: OwnCertificate;
      fingerprints: readonly Fingerprint[];
      events: DtlsEvents;
    },
  ) {
    this.#isClient = isClient;
    this.#fingerprints = fingerprints;
    this.#events = events;
    this.#transport = this.#makeTransport();
    const options = {
      transport: this.#transport,
      extendedMasterSecret: true,
      certificateRequest: true,
      // For video; and the SDKs' Rust library ends a session that chose no profile.
      srtpProfiles: [...SRTP_PROFILES],
    };
    const dtls = isClient ? new DtlsClient(options) : new DtlsServer(options);
    this.#dtls = dtls as unknown as Dtls;
    this.#show(certificate);
    this.#dtls.onConnect.subscribe(() => this.#connected());
    this.#dtls.onError.subscribe((error) => this.#end(`the handshake failed: ${String(error)}`));
    this.#watchHandshake();
    if (dtls instanceof DtlsClient) this.#begin(dtls);
  }

  /** Takes a datagram of the peer. */
  receive(datagram: Buffer): void {
    for (let at = 0; at + HEADER_BYTES <= datagram.length;) {
      const end = at + HEADER_BYTES + datagram.readUInt16BE(at + 11);
      // What is cut off is left out.
      if (end > datagram.length) return;
      this.#receiveRecord(datagram.subarray(at, end));
      at = end;
    }
  }

  #receiveRecord(record: Buffer): void {
    const contentType = record[0] ?? 0;
    const isClear = record.readUInt16BE(3) === 0;
    this.#heard = true;
    // In the clear anybody can write; once there are keys, nothing in the clear counts.
    if (this.#ended || !HANDLED.includes(contentType) || (this.#open && isClear)) return;
    if (contentType === ContentType.applicationData) this.#data(record);
    else if (contentType === ContentType.alert) this.#alert(record, isClear);
    else if (this.#dtls.bufferFragmentedHandshakes.length <= MOST_FRAGMENTS) {
      this.#transport.onData(record, ["", 0]);
    } else this.#end("the handshake failed: too many fragments");
  }

  #data(record: Buffer): void {
    const content = this.#open && this.#records?.open(record);
    if (content) this.#events.data(content);
  }

  /** Sends application data; lost when the session is not open. */
  send(data: Uint8Array): void {
    if (this.#open) this.#sendRecord(ContentType.applicationData, data);
  }

  #sendRecord(contentType: number, content: Uint8Array): void {
    if (this.#ended || !this.#records) return;
    this.#events.send(this.#records.seal(contentType, content));
  }

  /** Keys for video; undefined while it is not open, and when the peer takes none (RFC 5764). */
  srtpKeys(): SrtpKeys | undefined {
    if (!this.#open || this.#dtls.srtp.srtpProfile !== SRTP_PROFILE) return undefined;
    return this.#dtls.extractSessionKeys(SRTP_KEY_BYTES, SRTP_SALT_BYTES);
  }

  /** Says goodbye and ends all timers, those of the handshake within half a second. */
  async close(): Promise<void> {
    if (this.#open) this.#sendRecord(ContentType.alert, CLOSE_NOTIFY);
    this.#ended = true;
    for (const timer of this.#repeats) clearTimeout(timer);
    this.#dtls.dtls.flight = NO_FLIGHT;
    await Promise.all(this.#work);
  }

  #makeTransport(): Transport {
    return {
      type: "ice",
      address: { address: "", family: "IPv4", port: 0 },
      closed: false,
      onData: () => {},
      send: (data) => {
        if (!this.#heard) this.#unheard = data;
        if (!this.#ended) this.#events.send(data);
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
  }

  /** werift would parse certificate and key for each session, and sign with a text of the key. */
  #show({ der, key }: OwnCertificate): void {
    const { cipher } = this.#dtls;
    cipher.localCert = der;
    cipher.signatureHashAlgorithm = {
      hash: HashAlgorithm.sha256_4,
      signature: SignatureAlgorithm.ecdsa_3,
    };
    cipher.localPrivateKey = { sign: (data, hash) => sign(hash, data, key) };
    cipher.signatureData = (data, hash) => sign(hash, data, key);
  }

  #begin(dtls: DtlsClient): void {
    this.#track(dtls.connect());
    this.#repeats = REPEAT_MS.map((ms) =>
      setTimeout(() => {
        if (!this.#heard && this.#unheard) this.#events.send(this.#unheard);
      }, ms)
    );
  }

  /**
   * Lets werift see each message of the handshake once, and keeps those that are proofs. werift would
   * make new keys for a server's messages that come again, which those of libwebrtc do after 50 ms.
   */
  #watchHandshake(): void {
    const handle = this.#dtls.onHandleHandshakes;
    this.#dtls.onHandleHandshakes = (messages) => {
      const work = handle(messages.filter((message) => this.#isNew(message)));
      this.#track(work);
      return work;
    };
  }

  #isNew(message: Handshake): boolean {
    const { msg_type: type, message_seq: number } = message;
    if (type === HandshakeType.clientHello) return true;
    if (this.#seen.has(number)) {
      // The client has not got our last messages, which werift's server does not repeat
      // automatically.
      if (type === HandshakeType.finished && !this.#isClient) {
        for (const message of this.#dtls.dtls.lastMessage) this.#events.send(message);
      }
      return false;
    }
    this.#seen.add(number);
    this.#proofs.set(type, message);
    return true;
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch((error) => this.#end(`the handshake failed: ${String(error)}`))
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  #connected(): void {
    if (this.#open || this.#ended) return;
    this.#records = this.#makeRecords();
    const problem = this.#findProblem();
    if (problem !== undefined) {
      this.#sendRecord(ContentType.alert, Buffer.from([FATAL, BAD_CERTIFICATE]));
      return this.#end(problem);
    }
    this.#open = true;
    this.#events.open();
  }

  /** Why the peer is not who it should be; undefined when it is. */
  #findProblem(): string | undefined {
    const { remoteCertificate: certificate, masterSecret } = this.#dtls.cipher;
    if (!certificate || !masterSecret) return "the peer showed no certificate";
    if (!hasFingerprint(certificate, this.#fingerprints)) {
      return "the peer's certificate has another fingerprint than its session description declares " +
        "(SHA-256, SHA-384 or SHA-512 is wanted)";
    }
    const holdsKey = this.#isClient
      ? this.#provesServer(certificate)
      : this.#provesClient(certificate);
    if (!holdsKey) return "the peer does not prove that it has its certificate's key";
    if (!this.#provesFinished(masterSecret)) return "somebody changed the handshake in transit";
    return undefined;
  }

  #provesServer(certificate: Buffer): boolean {
    const { localRandom, remoteRandom, remoteKeyPair } = this.#dtls.cipher;
    const body = this.#proofs.get(HandshakeType.keyExchange)?.fragment;
    const publicKey = remoteKeyPair?.publicKey;
    if (!body || !publicKey || !localRandom || !remoteRandom) return false;
    const clientRandom = localRandom.serialize();
    const serverRandom = remoteRandom.serialize();
    return isServersKey({ certificate, body, publicKey, clientRandom, serverRandom });
  }

  #provesClient(certificate: Buffer): boolean {
    const signature = this.#proofs.get(HandshakeType.certificateVerify)?.fragment;
    return signature !== undefined &&
      isSigned(certificate, this.#transcriptBefore(HandshakeType.certificateVerify), signature);
  }

  #provesFinished(masterSecret: Buffer): boolean {
    const found = this.#proofs.get(HandshakeType.finished)?.fragment;
    // The server's own comes after the client's, and is not kept by werift when it is the other's.
    const transcript = this.#isClient
      ? serialize(this.#dtls.dtls.sortedHandshakeCache)
      : this.#transcriptBefore(HandshakeType.finished);
    const byClient = !this.#isClient;
    return found !== undefined && isFinished({ masterSecret, transcript, byClient, found });
  }

  #transcriptBefore(type: number): Buffer {
    const messages = this.#dtls.dtls.sortedHandshakeCache;
    return serialize(messages.slice(0, messages.findIndex(({ msg_type }) => msg_type === type)));
  }

  #alert(record: Buffer, isClear: boolean): void {
    const alert = isClear ? record.subarray(HEADER_BYTES) : this.#records?.open(record);
    // Otherwise it is not from the peer.
    if (!alert) return;
    const [level, description] = alert;
    if (description === 0) this.#end("closed by the peer");
    else if (level === FATAL) this.#end(`the peer closed DTLS with alert ${description}`);
  }

  #makeRecords(): DtlsRecords | undefined {
    const { clientWriteKey, serverWriteKey, clientNonce, serverNonce } = this.#dtls.cipher.cipher ??
      {};
    if (!clientWriteKey || !serverWriteKey || !clientNonce || !serverNonce) return undefined;
    const client = recordKey(clientWriteKey, clientNonce);
    const server = recordKey(serverWriteKey, serverNonce);
    return new DtlsRecords(
      this.#isClient ? { write: client, read: server } : { write: server, read: client },
    );
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.ended(reason);
  }
}

const BAD_CERTIFICATE = 42;

function recordKey(key: Buffer, nonce: Buffer): RecordKey {
  // werift writes the number of each of its records behind the salt.
  return { key, salt: Buffer.from(nonce.subarray(0, SALT_BYTES)) };
}

function serialize(messages: readonly Handshake[]): Buffer {
  return Buffer.concat(messages.map((message) => message.serialize()));
}

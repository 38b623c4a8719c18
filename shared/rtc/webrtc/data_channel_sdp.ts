/** Session descriptions (RFC 8866) of connections that carry data channels, and video by `media_sdp.ts`. */
import { Code, ConnectError } from "@connectrpc/connect";

/** Certificate hash, as `a=fingerprint` has it. */
export interface Fingerprint {
  /** Lower case: "sha-256". */
  readonly algorithm: string;
  /** Upper case hexadecimal with colons. */
  readonly value: string;
}

/** Which side starts the DTLS handshake. */
export type DtlsSetup = "actpass" | "active" | "passive";

/** One `m=` section, as much of it as an answer repeats. */
export interface Section {
  readonly kind: string;
  readonly protocol: string;
  readonly formats: string;
  readonly mid: string | undefined;
  /** It is offered or taken, and not refused or at rest. */
  readonly isUsed: boolean;
}

/** What the peer's description says. */
export interface RemoteDescription {
  readonly ufrag: string;
  readonly password: string;
  readonly iceLite: boolean;
  /** At least one. */
  readonly fingerprints: readonly Fingerprint[];
  readonly setup: DtlsSetup;
  readonly sctpPort: number;
  /** Bytes; 65,536 when it says nothing, Infinity when it says "any". */
  readonly maxMessageBytes: number;
  /** Longest datagram that the peer takes inside a host; undefined when it says nothing. */
  readonly datagramBytes: number | undefined;
  /** Lines from `candidate:` on. */
  readonly candidates: readonly string[];
  readonly sections: readonly Section[];
  /** Index among `sections`. */
  readonly dataSection: number;
}

/** What our own description says. */
export interface LocalDescription {
  readonly sessionId: string;
  readonly ufrag: string;
  readonly password: string;
  readonly fingerprint: Fingerprint;
  readonly setup: DtlsSetup;
  /** Lines from `candidate:` on. */
  readonly candidates: readonly string[];
  /** There are no other candidates than these. */
  readonly complete: boolean;
}

/** Port of SCTP inside DTLS that both sides use unless one says otherwise. */
const SCTP_PORT = 5000;
/** Longest message that we announce to take, in bytes. */
export const MAX_MESSAGE_BYTES = 65_536;
// RFC 8841: what holds when the peer announces nothing.
const DEFAULT_MAX_MESSAGE_BYTES = 65_536;
/**
 * Longest datagram that we take from a peer that is one of ours, too. A packet costs us as much as
 * some 8 kB in it; peers of others take no more than what fits any network.
 */
export const MAX_DATAGRAM_BYTES = 16_384;
const DATAGRAM_BYTES = "x-machine-datagram-bytes";
const LONGEST_SDP = 256 * 1024;
/** Sections of a description; an answer has as many, and more text for each. */
const MOST_SECTIONS = 128;

/**
 * Reads an offer or an answer.
 *
 * @throws {ConnectError} INVALID_ARGUMENT with what is missing or wrong.
 */
export function parseDescription(sdp: string): RemoteDescription {
  if (sdp.length > LONGEST_SDP) throw unusable(`it has more than ${LONGEST_SDP} characters`);
  const lines = sdp.split(/\r?\n/).filter((line) => line !== "");
  if (lines[0] !== "v=0") throw unusable('it does not begin with "v=0"');
  const groups = splitSections(lines);
  if (groups.length > MOST_SECTIONS + 1) {
    throw unusable(`it has ${groups.length - 1} sections; ${MOST_SECTIONS} are taken`);
  }
  const sections = groups.slice(1).map(readSection);
  const dataSection = sections.findIndex(isDataSection);
  const [session = [], data = []] = [groups[0], groups[dataSection + 1]];
  const section = sections[dataSection];
  if (!section) throw unusable("it has no section for data channels (m=application)");

  const one = (name: string) => attributes(data, name)[0] ?? attributes(session, name)[0];
  const needed = (name: string) => one(name) || refuseMissing(name);
  return {
    ufrag: needed("ice-ufrag"),
    password: needed("ice-pwd"),
    iceLite: lines.includes("a=ice-lite"),
    fingerprints: readFingerprints([
      ...attributes(data, "fingerprint"),
      ...attributes(session, "fingerprint"),
    ]),
    setup: readSetup(one("setup")),
    sctpPort: readSctpPort(one("sctp-port"), section),
    maxMessageBytes: readMaxMessageBytes(one("max-message-size")),
    datagramBytes: readDatagramBytes(one(DATAGRAM_BYTES)),
    candidates: attributes(data, "candidate").map((value) => `candidate:${value}`),
    sections,
    dataSection,
  };
}

/** An offer of a connection that carries data channels. */
export function writeOffer(local: LocalDescription): string {
  const section: Section = {
    kind: "application",
    protocol: "UDP/DTLS/SCTP",
    formats: "webrtc-datachannel",
    mid: "0",
    isUsed: true,
  };
  return writeDescription(local, [section], 0);
}

/** The answer to an offer: takes its data channels and refuses its other sections. */
export function writeAnswer(local: LocalDescription, offer: RemoteDescription): string {
  return writeDescription(local, offer.sections, offer.dataSection);
}

const NO_SECTIONS: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * A description with these sections. Those but the one for data channels are refused, unless `others`
 * has their lines, by `mid`.
 *
 * @param version larger in each description of a session
 */
export function writeDescription(
  local: LocalDescription,
  sections: readonly Section[],
  dataSection: number,
  { version = 2, others = NO_SECTIONS }: {
    version?: number;
    others?: ReadonlyMap<string, readonly string[]>;
  } = {},
): string {
  const bundled = sections.flatMap(({ mid }, index) =>
    mid !== undefined && (index === dataSection || others.has(mid)) ? [mid] : []
  );
  const lines = [
    "v=0",
    `o=- ${local.sessionId} ${version} IN IP4 127.0.0.1`,
    "s=-",
    "t=0 0",
    ...(bundled.length === 0 ? [] : [`a=group:BUNDLE ${bundled.join(" ")}`]),
    ...(others.size === 0 ? [] : ["a=msid-semantic: WMS *"]),
  ];
  for (const [index, { kind, protocol, formats, mid }] of sections.entries()) {
    const other = others.get(mid ?? "");
    if (other) {
      lines.push(...other);
      continue;
    }
    const taken = index === dataSection;
    lines.push(`m=${kind} ${taken ? 9 : 0} ${protocol} ${formats}`, "c=IN IP4 0.0.0.0");
    if (mid !== undefined) lines.push(`a=mid:${mid}`);
    lines.push(...(taken ? dataAttributes(local) : ["a=inactive"]));
  }
  return lines.join("\r\n") + "\r\n";
}

function dataAttributes(local: LocalDescription): string[] {
  return [
    `a=ice-ufrag:${local.ufrag}`,
    `a=ice-pwd:${local.password}`,
    "a=ice-options:trickle",
    `a=fingerprint:${local.fingerprint.algorithm} ${local.fingerprint.value}`,
    `a=setup:${local.setup}`,
    `a=sctp-port:${SCTP_PORT}`,
    `a=max-message-size:${MAX_MESSAGE_BYTES}`,
    `a=${DATAGRAM_BYTES}:${MAX_DATAGRAM_BYTES}`,
    ...local.candidates.map((candidate) => `a=${candidate}`),
    ...(local.complete ? ["a=end-of-candidates"] : []),
  ];
}

/** The lines before the first `m=`, then those of each section. */
function splitSections(lines: readonly string[]): string[][] {
  const groups: string[][] = [[]];
  for (const line of lines) {
    if (line.startsWith("m=")) groups.push([]);
    groups.at(-1)?.push(line);
  }
  return groups;
}

function readSection(lines: readonly string[]): Section {
  const [kind = "", port, protocol = "", ...formats] = (lines[0] ?? "").slice(2).split(" ");
  const isUsed = port !== "0" && !lines.includes("a=inactive");
  return { kind, protocol, formats: formats.join(" "), mid: attributes(lines, "mid")[0], isUsed };
}

function isDataSection({ kind, protocol }: Section): boolean {
  return kind === "application" && protocol.includes("DTLS/SCTP");
}

function attributes(lines: readonly string[], name: string): string[] {
  const start = `a=${name}:`;
  return lines.filter((line) => line.startsWith(start)).map((line) =>
    line.slice(start.length).trim()
  );
}

function readFingerprints(values: readonly string[]): Fingerprint[] {
  if (values.length === 0) refuseMissing("fingerprint");
  return values.map((text) => {
    const [algorithm = "", value = ""] = text.split(/\s+/);
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2})*$/i.test(value)) {
      throw unusable(`a=fingerprint has "${text.slice(0, 80)}" where a hash is wanted`);
    }
    return { algorithm: algorithm.toLowerCase(), value: value.toUpperCase() };
  });
}

function readSetup(text: string | undefined): DtlsSetup {
  if (text === undefined) return "actpass";
  if (text === "actpass" || text === "active" || text === "passive") return text;
  throw unusable(`a=setup is "${text.slice(0, 40)}"; known are actpass, active and passive`);
}

/** Older descriptions have the port in the place of the format. */
function readSctpPort(text: string | undefined, { formats }: Section): number {
  const port = Number(text ?? (/^\d+$/.test(formats) ? formats : SCTP_PORT));
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw unusable(`a=sctp-port is "${text?.slice(0, 40)}", which is no port`);
}

function readMaxMessageBytes(text: string | undefined): number {
  const bytes = Number(text ?? DEFAULT_MAX_MESSAGE_BYTES);
  if (!Number.isInteger(bytes) || bytes < 0) {
    throw unusable(`a=max-message-size is "${text?.slice(0, 40)}", which is no number of bytes`);
  }
  return bytes === 0 ? Infinity : bytes;
}

/** No promise of others: what is no number of bytes that make sense says nothing. */
function readDatagramBytes(text: string | undefined): number | undefined {
  const bytes = Number(text);
  return Number.isInteger(bytes) && bytes >= LEAST_DATAGRAM_BYTES
    ? Math.min(bytes, MAX_DATAGRAM_BYTES)
    : undefined;
}

const LEAST_DATAGRAM_BYTES = 1_500;

function refuseMissing(name: string): never {
  throw unusable(`a=${name} is missing`);
}

function unusable(reason: string): ConnectError {
  return new ConnectError(
    `the session description cannot be used: ${reason}`,
    Code.InvalidArgument,
  );
}

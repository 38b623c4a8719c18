/** `-network-check`: name servers, own resolver, STUN, lost packets, and the way to the cloud. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { Finding, Subject } from "./finding.ts";
import type { NetworkProbe, UdpSocket } from "./probe.ts";
import {
  bindingRequest,
  mappedAddress,
  messageLength,
  newTransaction,
  transactionOf,
  transactionText,
} from "./stun.ts";
import type { HostPort, NetworkTargets } from "./targets.ts";

/** A name server that takes longer is worth a warning. Milliseconds. */
const SLOW_DNS_MS = 1_000;
/** Packets that are counted. */
const PROBES = 10;
/** The whole check. Milliseconds. */
const CHECK_LIMIT_MS = 30_000;

export interface NetworkCheckOptions {
  targets: NetworkTargets;
  /** Address of the machine's cloud; undefined for none. */
  appAddress: string | undefined;
  probe: NetworkProbe;
  clock: Clock;
  /** Ends the check early. */
  signal?: AbortSignal;
}

/** All groups side by side; takes 30 s at most. Never throws for what the network does. */
export async function checkNetwork(options: NetworkCheckOptions): Promise<Finding[]> {
  const { targets } = options;
  const checks = new Checks(options);
  const groups = await Promise.all([
    checks.cloud(),
    Promise.all(targets.names.map((name) => checks.resolver(name))),
    Promise.all(targets.dnsServers.flatMap((server) => [
      checks.dns("UDP", server),
      checks.dns("TCP", server),
    ])),
    checks.stunUdp(),
    Promise.all(targets.stunTcp.map((server) => checks.stunTcp(server))),
    Promise.all(targets.packetLoss.map((host) => checks.loss(host))),
  ]);
  return groups.flat();
}

class Checks {
  constructor(private readonly options: NetworkCheckOptions) {}

  /** Resolve, connect, ask: what comes after a step that failed would only fail too. */
  async cloud(): Promise<Finding[]> {
    const { appAddress, probe } = this.options;
    if (appAddress === undefined) return [];
    const { hostname, protocol, port: digits } = new URL(appAddress);
    const host = hostname.replace(/^\[|\]$/g, "");
    const port = Number(digits) || (protocol === "http:" ? 80 : 443);
    const steps: [string, (signal: AbortSignal) => Promise<string>][] = [
      [`resolve ${host}`, async () => (await probe.resolve(host)).join(", ")],
      [
        `connect to ${host}:${port}`,
        async (signal) => (await probe.reach({ host, port }, signal), "connected"),
      ],
      [`ask ${appAddress}`, async (signal) => `HTTP status ${await probe.get(appAddress, signal)}`],
    ];
    const findings: Finding[] = [];
    for (const [what, run] of steps) {
      const finding = await this.#step("cloud", what, run);
      findings.push(finding);
      if (finding.outcome === "failed") break;
    }
    return findings;
  }

  resolver(name: string): Promise<Finding> {
    return this.#step(
      "resolver",
      name,
      async () => (await this.options.probe.resolve(name)).join(", "),
    );
  }

  async dns(transport: "UDP" | "TCP", server: HostPort): Promise<Finding> {
    const { probe, targets } = this.options;
    const { askByTcp, askByUdp } = await import("./dns.ts");
    const ask = transport === "UDP" ? askByUdp : askByTcp;
    const finding = await this.#step(
      "dns",
      `${transport} ${show(server)}`,
      async (signal) => (await ask(probe, server, targets.dnsName, signal)).join(", "),
    );
    const isSlow = finding.outcome === "ok" && (finding.ms ?? 0) > SLOW_DNS_MS;
    return isSlow ? { ...finding, outcome: "warning", detail: `slow; ${finding.detail}` } : finding;
  }

  /** One socket asks all servers, so that their answers report the NAT between. */
  async stunUdp(): Promise<Finding[]> {
    const { targets, probe } = this.options;
    if (targets.stunUdp.length === 0) return [];
    const waiting = new Map<string, (message: Uint8Array) => void>();
    let socket: UdpSocket;
    try {
      socket = await probe.openUdp();
    } catch (error) {
      return [failed("stun", "UDP", error)];
    }
    socket.onMessage = (message) => waiting.get(transactionOf(message) ?? "")?.(message);
    const seen: HostPort[] = [];
    try {
      const findings = await Promise.all(
        targets.stunUdp.map((server) =>
          this.#step("stun", `UDP ${show(server)}`, async () => {
            const transaction = newTransaction();
            const answer = new Promise<Uint8Array>((resolve) =>
              waiting.set(transactionText(transaction), resolve)
            );
            await socket.send(bindingRequest(transaction), server);
            const address = mappedAddress(await answer);
            seen.push(address);
            return `seen as ${show(address)}`;
          })
        ),
      );
      return [...findings, ...natFinding(seen)];
    } finally {
      socket.close();
    }
  }

  stunTcp(server: HostPort): Promise<Finding> {
    return this.#step("stun", `TCP ${show(server)}`, async (signal) => {
      const isWhole = (answer: Uint8Array) => answer.length >= (messageLength(answer) ?? Infinity);
      const request = bindingRequest(newTransaction());
      const answer = await this.options.probe.tcp(server, request, isWhole, signal);
      return `seen as ${show(mappedAddress(answer))}`;
    });
  }

  /** By the ping program; where there is none, by questions to the first name server. */
  async loss(target: string): Promise<Finding> {
    const { probe } = this.options;
    const host = target === "gateway" ? await probe.gateway() : target;
    const what = target === host ? target : `${target} ${host ?? ""}`.trimEnd();
    if (host === undefined) {
      return { subject: "loss", what, outcome: "skipped", detail: "there is no default gateway" };
    }
    const pinged = await this.#limited(
      CHECK_LIMIT_MS / 2,
      "ping",
      (signal) => probe.ping(host, PROBES, signal),
    ).catch(() => undefined);
    if (pinged) return lossFinding(what, pinged, "echo requests");
    return await this.#lossByQuestions(what);
  }

  async #lossByQuestions(what: string): Promise<Finding> {
    const { probe, targets } = this.options;
    const server = targets.dnsServers[0];
    const none = "ping is not available here";
    if (!server) return { subject: "loss", what, outcome: "skipped", detail: none };
    const { askByUdp } = await import("./dns.ts");
    const asked = await Promise.all(
      Array.from(
        { length: PROBES },
        () =>
          this.#limited(
            targets.timeoutMs,
            "the question",
            (signal) => askByUdp(probe, server, targets.dnsName, signal),
          ).then(() => 1, () => 0),
      ),
    );
    const received = asked.reduce<number>((sum, one) => sum + one, 0);
    const how = `questions by UDP to ${show(server)} (${none})`;
    return lossFinding(what, { sent: PROBES, received }, how);
  }

  async #step(
    subject: Subject,
    what: string,
    run: (signal: AbortSignal) => Promise<string>,
  ): Promise<Finding> {
    const { clock, targets } = this.options;
    const startMs = clock.monotonicMs();
    try {
      const detail = await this.#limited(targets.timeoutMs, "the answer", run);
      return { subject, what, outcome: "ok", detail, ms: clock.monotonicMs() - startMs };
    } catch (error) {
      return failed(subject, what, error);
    }
  }

  #limited<T>(ms: number, what: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, signal } = this.options;
    return withDeadline(run, { clock, deadlineMs: ms, what, ...(signal && { signal }) });
  }
}

function natFinding(seen: readonly HostPort[]): Finding[] {
  if (seen.length < 2) return [];
  const addresses = new Set(seen.map(show));
  const hard = addresses.size > 1;
  return [{
    subject: "stun",
    what: "NAT",
    outcome: hard ? "warning" : "ok",
    detail: hard
      ? `each server sees another address (${[...addresses].join(", ")}): direct connections ` +
        "between peers will often fail and need a relay"
      : "all servers see the same address: direct connections between peers can work",
  }];
}

function lossFinding(
  what: string,
  { sent, received }: { sent: number; received: number },
  how: string,
): Finding {
  const detail = `${received} of ${sent} ${how} answered`;
  const outcome = received === 0 ? "failed" : received < sent ? "warning" : "ok";
  return { subject: "loss", what, outcome, detail };
}

function failed(subject: Subject, what: string, error: unknown): Finding {
  return { subject, what, outcome: "failed", detail: toError(error).message };
}

function show({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

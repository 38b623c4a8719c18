/** `-network-check`: can this computer resolve names and reach its cloud? */
import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { toError } from "../resources/errors.ts";

/** Each step takes at most this long. Milliseconds. */
const STEP_TIMEOUT_MS = 5_000;
/** Names to try where there is no configuration. */
const COMMON_NAMES = ["cloudflare.com", "github.com"] as const;

/** The outcome of one step. */
export interface Finding {
  readonly ok: boolean;
  /** What was tried and what came of it, one line. */
  readonly text: string;
}

/** The network as the check sees it. */
export interface NetworkProbe {
  /** IP addresses of a name, by the computer's resolver. */
  resolve(host: string): Promise<string[]>;
  /** Opens a TCP connection and closes it. */
  reach(host: string, port: number): Promise<void>;
  /** The status of a GET request. */
  get(url: string): Promise<number>;
}

/** Checks the way to the cloud, or only names when there is no cloud address. */
export async function checkNetwork(
  appAddress: string | undefined,
  probe: NetworkProbe = realProbe,
): Promise<Finding[]> {
  if (appAddress === undefined) {
    const findings = await Promise.all(COMMON_NAMES.map((name) => resolveStep(name, probe)));
    // One name that resolves shows that names can be resolved.
    return findings.some(({ ok }) => ok)
      ? findings.map((finding) => ({ ...finding, ok: true }))
      : findings;
  }
  const { hostname, protocol, port } = new URL(appAddress);
  const host = hostname.replace(/^\[|\]$/g, "");
  const findings = [await resolveStep(host, probe)];
  if (!findings[0]!.ok) return findings;
  const number = Number(port) || (protocol === "http:" ? 80 : 443);
  findings.push(
    await step(`connect to ${host}:${number}`, async () => {
      await probe.reach(host, number);
      return "connected";
    }),
  );
  if (!findings[1]!.ok) return findings;
  findings.push(
    await step(`ask ${appAddress}`, async () => `HTTP status ${await probe.get(appAddress)}`),
  );
  return findings;
}

function resolveStep(name: string, probe: NetworkProbe): Promise<Finding> {
  return step(`resolve ${name}`, async () => (await probe.resolve(name)).join(", "));
}

async function step(what: string, run: () => Promise<string>): Promise<Finding> {
  const start = performance.now();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${STEP_TIMEOUT_MS / 1000} s`)),
    STEP_TIMEOUT_MS,
  );
  try {
    const result = await Promise.race([run(), late.promise]);
    return { ok: true, text: `${what}: ${result} (${Math.round(performance.now() - start)} ms)` };
  } catch (error) {
    return { ok: false, text: `${what}: failed: ${toError(error).message}` };
  } finally {
    clearTimeout(timer);
  }
}

const realProbe: NetworkProbe = {
  async resolve(host) {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  },
  reach: (host, port) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      socket.once("connect", () => {
        socket.destroy();
        resolve();
      });
      socket.once("error", reject);
    }),
  async get(url) {
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    return response.status;
  },
};

/** Runs the network check for the command line and for the running server. */
import type { JsonValue } from "@bufbuild/protobuf";
import { JsoncError, parseJsonc } from "../../../shared/base/files/jsonc.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type Finding, judge, table, type Verdict } from "./finding.ts";
import { checkNetwork } from "./network_check.ts";
import { realProbe } from "./probe.ts";
import { defaultTargets, type NetworkTargets, parseTargets, TargetsError } from "./targets.ts";

/** A report for people and what it says in all. */
export interface Report extends Verdict {
  /** Lines, one a finding. */
  readonly table: string;
}

export interface RunOptions {
  /** Address of the machine's cloud; undefined for none. */
  appAddress: string | undefined;
  /** MACHINE_NETWORK_CHECK: the targets as JSON, or the path of a file with them. */
  setting: string | undefined;
  clock: Clock;
}

/**
 * `-network-check`.
 *
 * @throws {TargetsError} or {FileError} when the setting cannot be used.
 */
export async function networkReport(options: RunOptions): Promise<Report> {
  const { appAddress, clock } = options;
  const targets = await readTargets(options.setting);
  const findings = await checkNetwork({ targets, appAddress, probe: realProbe, clock });
  return { ...judge(findings), table: table(findings) };
}

/**
 * The check of `NetworkWatch`: the cloud each time. Others than the cloud are queried only when the
 * setting names them; a machine does not turn to strangers automatically. STUN and TCP only at
 * first.
 *
 * @throws {TargetsError} or {FileError} when the setting cannot be used.
 */
export async function backgroundCheck(
  { appAddress, setting, clock }: RunOptions,
): Promise<(scope: "full" | "brief", signal: AbortSignal) => Promise<Finding[]>> {
  const wanted = setting ? await readTargets(setting) : undefined;
  const brief = { ...wanted ?? NOBODY, stunUdp: [], stunTcp: [] };
  return (scope, signal) =>
    checkNetwork({
      targets: scope === "full" ? wanted ?? NOBODY : brief,
      appAddress,
      probe: realProbe,
      clock,
      signal,
    });
}

const NOBODY: NetworkTargets = {
  ...{ dnsServers: [], dnsName: "", names: [], stunUdp: [], stunTcp: [], packetLoss: [] },
  timeoutMs: 5_000,
};

/** @throws {TargetsError} or {FileError} */
export async function readTargets(setting: string | undefined): Promise<NetworkTargets> {
  const defaults = defaultTargets(Deno.build.os);
  if (!setting) return defaults;
  const isInline = setting.trimStart().startsWith("{");
  return parseTargets(parse(isInline ? setting : await read(setting)), defaults);
}

function parse(text: string): JsonValue {
  try {
    return parseJsonc(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new TargetsError(`the targets of the network check are not JSON: ${error.message}`);
  }
}

async function read(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the targets of the network check", path);
  }
}

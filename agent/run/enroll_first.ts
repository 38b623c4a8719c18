import { randomBytes } from "node:crypto";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { EnrollmentService } from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { Backoff } from "../../shared/base/time/backoff.ts";
import type { KnownSecrets } from "../cloud/logs/known_secrets.ts";
import type { AgentOptions } from "../options/options.ts";
import { type EnrollmentSettings, removeEnrollmentFile } from "../settings/enrollment_settings.ts";
import type { AgentDeps } from "./deps.ts";

export interface EnrollParts {
  readonly options: Pick<AgentOptions, "credentialsFile" | "dir">;
  readonly deps: Pick<AgentDeps, "openCloud" | "host" | "hostName" | "version" | "clock" | "log">;
  readonly secrets: Pick<KnownSecrets, "add">;
  readonly settings: EnrollmentSettings;
  /** Gets what the device waits for, in words. */
  readonly waiting?: (reason: string) => void;
}

const CALL_MS = 30_000;
/** The first wait after a failure; those that only a person can end are longer. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 60_000;
const REFUSED_MIN_MS = 30_000;
const REFUSED_MAX_MS = 15 * 60_000;
/** Whatever a cloud reports. */
const SHORTEST_PENDING_S = 1;
const LONGEST_PENDING_S = 3_600;
/** Where Linux has the serial number, in the order of trust. */
const SERIAL_FILES = [
  "/sys/class/dmi/id/product_serial",
  "/sys/firmware/devicetree/base/serial-number",
];

/** In the agent's folder: made once, and gone when the device has its credentials. */
function deviceKeyFile(dir: string): string {
  return join(dir, "etc", "enrollment-key");
}

/**
 * Asks the cloud to make this device a machine until there are credentials, then writes the
 * credentials file. A key that is made once and on the disk before the first question makes that
 * repeatable: killed anywhere, the device gets the machine that was made for it.
 */
export async function enrollFirst(parts: EnrollParts, signal: AbortSignal): Promise<void> {
  const { options, deps, secrets, settings, waiting = () => {} } = parts;
  const log = deps.log.child("enrollment");
  secrets.add([settings.token]);
  const deviceKey = await deviceKeyOf(options.dir);
  secrets.add([deviceKey]);
  const device = await deviceFacts(deps);
  const retry = new Backoff({ minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS });
  const refused = new Backoff({ minMs: REFUSED_MIN_MS, maxMs: REFUSED_MAX_MS });
  log.info("enrolling this device as a machine", { cloud: settings.appAddress });
  const cloud = deps.openCloud({ appAddress: settings.appAddress, credentials: undefined });
  try {
    let told = "";
    const tell = (reason: string, isError: boolean) => {
      waiting(reason);
      if (reason !== told && isError) log.error(reason, { event: "enrollment_failed" });
      else if (reason !== told) log.info(reason);
      told = reason;
    };
    while (!signal.aborted) {
      try {
        const { result } = await cloud.client(EnrollmentService).enroll(
          { token: settings.token, deviceKey, device },
          { signal, timeoutMs: CALL_MS },
        );
        if (result.case === "machine") {
          const { partId, partSecret, machineName } = result.value;
          secrets.add([partSecret]);
          await writeCredentials(options.credentialsFile, settings, { partId, partSecret });
          await removeIfExists(deviceKeyFile(options.dir));
          await removeEnrollmentFile(options.dir);
          log.info("this device is a machine now", { machine: machineName, part_id: partId });
          return;
        }
        tell("the device waits until an owner of its location approves of it", false);
        const seconds = Number(result.case === "pendingSeconds" ? result.value : 0);
        const ms = 1_000 * Math.min(LONGEST_PENDING_S, Math.max(SHORTEST_PENDING_S, seconds));
        // Devices that were switched on together do not stay together.
        await deps.clock.sleep(ms * (0.75 + 0.5 * Math.random()), signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ConnectError)) throw error;
        const isRefusal = REFUSALS.has(error.code);
        tell(
          isRefusal
            ? `the cloud does not enroll this device: ${error.rawMessage}`
            : `this device cannot request its enrollment: ${error.rawMessage}`,
          isRefusal,
        );
        await deps.clock.sleep((isRefusal ? refused : retry).next(), signal);
      }
    }
  } finally {
    cloud.close();
  }
}

/** Ends that another try alone does not change. */
const REFUSALS = new Set([
  ...[Code.Unauthenticated, Code.PermissionDenied, Code.FailedPrecondition],
  ...[Code.InvalidArgument, Code.ResourceExhausted, Code.Unimplemented],
]);

/** @throws {FileError} */
async function deviceKeyOf(dir: string): Promise<string> {
  const file = deviceKeyFile(dir);
  const known = (await readIfExists(file))?.trim();
  if (known !== undefined && /^[A-Za-z0-9_-]{32,128}$/.test(known)) return known;
  const made = randomBytes(32).toString("base64url");
  await writeFileAtomic(file, `${made}\n`, { mode: 0o600 });
  return made;
}

async function writeCredentials(
  file: string,
  { appAddress }: EnrollmentSettings,
  { partId, partSecret }: { readonly partId: string; readonly partSecret: string },
): Promise<void> {
  const json = { cloud: { app_address: appAddress, id: partId, secret: partSecret } };
  await writeFileAtomic(file, `${JSON.stringify(json, null, 2)}\n`, { mode: 0o600 });
}

async function deviceFacts({ host, hostName, version }: EnrollParts["deps"]) {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
    .filter(({ internal, mac }) => !internal && mac !== "00:00:00:00:00:00").map(({ mac }) => mac);
  return {
    hostName: short(hostName),
    serial: await serialNumber(),
    mac: short(addresses.sort()[0] ?? ""),
    platform: short(host.platform),
    agentVersion: short(version),
  };
}

async function serialNumber(): Promise<string> {
  for (const file of SERIAL_FILES) {
    const text = await readIfExists(file).catch(() => undefined);
    const serial = short(text ?? "");
    if (serial !== "") return serial;
  }
  return "";
}

/** As much as the cloud takes, without what no name has. */
function short(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "").trim().slice(0, 253);
}

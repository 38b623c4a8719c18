import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter } from "./report.ts";

const PROTO = fileURLToPath(new URL("../../proto/", import.meta.url));

/** What ghz is to call, over one connection. */
export interface Load {
  readonly port: number;
  /** `viam.component.sensor.v1.SensorService/GetReadings` */
  readonly call: string;
  /** File with the service, below `proto/`. */
  readonly proto: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Undefined where nobody has to sign in. */
  readonly accessToken?: string;
  readonly inFlight: number;
  readonly seconds: number;
}

/** Calls answered in a second; throws when any failed. */
export async function runGhz(ghz: string, load: Load): Promise<number> {
  const { accessToken: token } = load;
  const { success, stdout, stderr } = await new Deno.Command(ghz, {
    args: [
      ...["--insecure", "--format", "json"],
      ...["--import-paths", PROTO, "--proto", `${PROTO}${load.proto}`],
      ...["--call", load.call],
      ...(token ? ["--metadata", JSON.stringify({ authorization: `Bearer ${token}` })] : []),
      ...["--data", JSON.stringify(load.data)],
      ...["--connections", "1", "--concurrency", String(load.inFlight)],
      ...["--duration", `${load.seconds}s`, "--duration-stop", "wait"],
      `127.0.0.1:${load.port}`,
    ],
  }).output();
  if (!success) throw new Error(`ghz failed: ${new TextDecoder().decode(stderr)}`);
  const result = JSON.parse(new TextDecoder().decode(stdout)) as {
    rps: number;
    statusCodeDistribution: Record<string, number>;
  };
  const statuses = Object.keys(result.statusCodeDistribution);
  if (statuses.join() !== "OK") throw new Error(`answers were not all OK: ${statuses}`);
  return result.rps;
}

const MODULE = "github.com/bojand/ghz/cmd/ghz@v0.120.0";
const BIN = fileURLToPath(new URL("../../.tools/bin/", import.meta.url));

/**
 * Path of the load generator ghz, built with Go into .tools/bin where it is not there yet.
 * Undefined where there is no Go, or the build fails.
 */
export async function findGhz(reporter: Reporter): Promise<string | undefined> {
  const path = join(BIN, Deno.build.os === "windows" ? "ghz.exe" : "ghz");
  if (await exists(path)) return path;
  reporter.note(`building ${MODULE} …`);
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["install", MODULE],
      env: { GOBIN: BIN },
    }).output();
    if (success) return path;
    reporter.note(`go could not build ghz: ${new TextDecoder().decode(stderr).trim()}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    reporter.note("there is no Go to build ghz with");
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

/** For tests: the life of a data manager that somebody kills, and what its cloud saw of it. */
import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { call, DataRig, identityOf, testSensor } from "./testing.ts";

/** What a run leaves for the test: which readings the sensor gave, which the cloud answered for. */
export interface Trail {
  readonly given: number[];
  /** Readings of each upload that the cloud has, once where it was sent again. */
  readonly stored: number[];
}

/**
 * Captures some readings, uploads, captures more, uploads again, ends. The sensor counts on from
 * where the run before stopped.
 */
export async function runOnce(home: string): Promise<void> {
  const rig = new DataRig(home);
  let n = (await readTrail(home)).given.at(-1) ?? 0;
  let given = 0;
  const keep = rig.cloud.uploads.push.bind(rig.cloud.uploads);
  rig.cloud.uploads.push = (upload) => {
    const values = upload.readings.map(({ data }) =>
      data.case === "struct" ? (data.value["readings"] as { n: number }).n : NaN
    );
    append(home, "stored", { identity: identityOf(upload), values });
    return keep(upload);
  };
  await rig.configure(testSensor("s", () => {
    n++;
    given++;
    append(home, "given", n);
    return { n };
  }, { method: "Readings", capture_frequency_hz: 200 }));
  const manager = await rig.start({ sync_disabled: true });
  const until = (count: number) => waitFor(() => given >= count, { deadlineMs: 60_000 });
  await until(5);
  await manager.sync({}, call);
  await until(10);
  await manager.sync({}, call);
  await manager.close();
  await rig.configure();
  const last = await rig.start({ sync_disabled: true });
  await last.sync({}, call);
  await last.close();
  await rig.close();
}

export async function readTrail(home: string): Promise<Trail> {
  const given = await lines<number>(home, "given");
  const uploads = await lines<{ identity: string; values: number[] }>(home, "stored");
  const unique = new Map(uploads.map(({ identity, values }) => [identity, values]));
  return { given, stored: [...unique.values()].flat() };
}

function append(home: string, name: string, value: unknown): void {
  Deno.writeTextFileSync(join(home, `${name}.jsonl`), `${JSON.stringify(value)}\n`, {
    append: true,
  });
}

async function lines<T>(home: string, name: string): Promise<T[]> {
  const text = await Deno.readTextFile(join(home, `${name}.jsonl`)).catch(() => "");
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}

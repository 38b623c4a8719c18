/** Kills the cloud where it hurts most between a machine's data and the receiver of a webhook. */
import assert from "node:assert/strict";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { readConfig } from "../../fleet/configuration/config_check.ts";
import { trigger, webhook, when } from "./rig_testing.ts";

const folder = import.meta.dirname ?? ".";

/** A cloud that a machine sends one reading to, and that ends when everything is delivered. */
const SOURCE = `
  import { runCloudOnce } from "./fault_cloud_testing.ts";
  const [dataDir, partId, secret] = Deno.args;
  await runCloudOnce(dataDir, { partId, secret });
`;

/** Receipt, commit, delivery and its record. */
const POINTS = [
  "data.upload.before-commit",
  "data.upload.after-commit",
  "triggers.transition.before-commit",
  "triggers.transition.after-commit",
  "delivery.before-send",
  "delivery.before-send#2",
  "delivery.after-send",
  "delivery.after-send#2",
  "delivery.record.before-commit",
  "delivery.record.before-commit#2",
  "delivery.record.after-commit",
];

interface Rig {
  readonly receiver: FakeReceiver;
  /** Runs the cloud until everything is delivered, or until it is killed. */
  run(faultPoint?: string): Promise<string | undefined>;
  /** Readings and notifications that are stored. */
  stored(): Promise<{ readings: number; states: string[] }>;
}

async function withRig(test: (rig: Rig) => Promise<void>): Promise<void> {
  await using receiver = FakeReceiver.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-faults-" });
  const open = () => openDataFolder(dataDir, systemRandom);
  try {
    await placeEmptyDatabase(dataDir);
    const data = await open();
    const triggers = [
      trigger(when(), [webhook(receiver)], { name: "data" }),
      trigger({ type: "part_online" }, [webhook(receiver)], { name: "online" }),
    ];
    const made = await bootstrap(data, { clock: systemClock, random: systemRandom }, {
      organization: "Acme",
      location: "Lab",
      machine: "demo",
      config: readConfig(JSON.stringify({ triggers })),
    }).finally(() => data.database.close());
    await test({
      receiver,
      async run(faultPoint) {
        const args = [dataDir, made.part_id, made.part_secret];
        const { signal, code, stderr } = await runFaultChild(SOURCE, {
          folder,
          isLarge: true,
          args,
          ...(faultPoint === undefined ? {} : { faultPoint }),
        });
        assert.ok(signal === "SIGKILL" || code === 0, stderr);
        return signal;
      },
      async stored() {
        const { database } = await open();
        try {
          const readings = await database.queries.selectFrom("tabular_readings").selectAll()
            .execute();
          const rows = await database.queries.selectFrom("deliveries").select("state").execute();
          return { readings: readings.length, states: rows.map(({ state }) => state) };
        } finally {
          database.close();
        }
      },
    });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("a cloud that nobody kills tells each receiver once", () =>
  withRig(async ({ receiver, run, stored }) => {
    assert.equal(await run(), undefined);
    assert.equal(receiver.requests.length, 2);
    assert.deepEqual(await stored(), { readings: 1, states: ["delivered", "delivered"] });
  }));

for (const point of POINTS) {
  Deno.test(`a cloud killed at ${point} tells each receiver, none more than twice`, () =>
    withRig(async ({ receiver, run, stored }) => {
      assert.equal(await run(point), "SIGKILL", "the point was passed");
      assert.equal(await run(), undefined);
      assert.deepEqual(await stored(), { readings: 1, states: ["delivered", "delivered"] });
      const times = new Map<string, number>();
      const bodies = new Map<string, Set<string>>();
      for (const { headers, body, method } of receiver.requests) {
        const id = headers.get("webhook-id") ?? "";
        times.set(id, (times.get(id) ?? 0) + 1);
        bodies.set(id, (bodies.get(id) ?? new Set()).add(method + body));
      }
      assert.equal(times.size, 2, "two notifications, however often they were sent");
      assert.ok([...times.values()].every((count) => count <= 2), String([...times.values()]));
      assert.ok([...bodies.values()].every(({ size }) => size === 1), "a repeat is the same");
    }));
}

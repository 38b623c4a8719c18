import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { DatasetService, DatasetType } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { EnrollmentService } from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { NOON, uploadTemperatures } from "../data/ingest/data_testing.ts";
import { createPackage, gzip } from "../registry/packages/packages_testing.ts";
import { addRelease, releases } from "../releases/catalogue/releases_testing.ts";
import { FakeRunner } from "../training/queue/queue_testing.ts";
import { apiKey, partSecret, type TestCloud } from "./cloud_testing.ts";
import { Pair } from "./pair_testing.ts";
import { TrainingCloud } from "./training_testing.ts";

const TURNS = 3;

/** Two nodes with an organisation that has a dataset of images, and another organisation. */
async function contest({ one, other }: Pair) {
  const training = await TrainingCloud.on(one);
  const script = await training.script();
  const rival = await one.bootstrap({ organization: "Rival" });
  const { made } = training;
  const { queries } = one.folder.database;
  const app = one.app(made);
  const count = async (table: "release_keys" | "sequence_exports" | "tabular_readings") => {
    const { rows } = await queries.selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as("rows")).executeTakeFirstOrThrow();
    return rows;
  };
  /** The same by two callers of each node. */
  const byAll = (call: (node: TestCloud, at: number) => Promise<unknown>) =>
    [one, other, one, other].map((node, at) => () => call(node, at));
  const part = async (name: string) => {
    const { id } = await app.newRobot({ name, location: made.location_id });
    const { parts } = await app.getRobotParts({ robotId: id });
    return parts[0]!;
  };
  return {
    one,
    other,
    made,
    rival,
    app,
    script,
    datasetId: training.datasetId,
    count,
    byAll,
    part,
  };
}

/** Calls that are made at once. Left out: one of them gets what it wants. */
interface Race {
  readonly calls: readonly (() => Promise<unknown>)[];
  readonly all?: true;
}

type Prepare = (it: Awaited<ReturnType<typeof contest>>, turn: number) => Promise<Race> | Race;

const sensor = (at: number) => ({ name: `s${at}`, api: "rdk:component:sensor", model: "fake" });

/** What is decided in one transaction, as docs/postgresql.md lists it. */
const RACES: Readonly<Record<string, Prepare>> = {
  "a machine's name": ({ made, byAll }, turn) => ({
    calls: byAll((node) =>
      node.app(made).newRobot({ name: `m${turn}`, location: made.location_id })
    ),
  }),
  "a part's second secret": async ({ made, byAll, part }, turn) => {
    const { id: partId } = await part(`second-${turn}`);
    return { calls: byAll((node) => node.app(made).createRobotPartSecret({ partId })) };
  },
  "a part's last secret": async ({ app, made, byAll, part }, turn) => {
    const { id: partId } = await part(`last-${turn}`);
    const { part: found } = await app.createRobotPartSecret({ partId });
    const secretId = (at: number) => found?.secrets[at % 2]?.id ?? "";
    return {
      calls: byAll((node, at) =>
        node.app(made).deleteRobotPartSecret({ partId, secretId: secretId(at) })
      ),
    };
  },
  "the next key of a key": async ({ app, made, byAll }, turn) => {
    const authorization = { authorizationId: "organization_owner", resourceType: "organization" };
    const { id } = await app.createKey({
      name: `key ${turn}`,
      authorizations: [{ ...authorization, resourceId: made.org_id }],
    });
    return { calls: byAll((node) => node.app(made).rotateKey({ id })) };
  },
  "a namespace": ({ one, other, made, rival }, turn) => ({
    calls: ([[one, made], [other, rival]] as const).map(([node, owner]) => () =>
      node.app(owner).updateOrganizationNamespace({
        ...{ organizationId: owner.org_id, newPublicNamespace: `name-${turn}` },
      })
    ),
  }),
  "the revision after one": async ({ app, made, byAll }, turn) => {
    const { part } = await app.getRobotPart({ id: made.part_id });
    return {
      calls: byAll((node, at) =>
        node.app(made).updateRobotPart({
          ...{ id: made.part_id, lastKnownUpdate: part!.lastUpdated! },
          robotConfig: { components: [sensor(10 * turn + at)] },
        })
      ),
    };
  },
  "the revision of a fragment after one": async ({ app, made, byAll }, turn) => {
    const { fragment } = await app.createFragment({
      ...{ name: `base ${turn}`, config: {}, organizationId: made.org_id },
    });
    return {
      calls: byAll((node, at) =>
        node.app(made).updateFragment({
          ...{ id: fragment!.id, lastKnownUpdate: fragment!.lastUpdated! },
          config: { components: [sensor(at)] },
        })
      ),
    };
  },
  "the only machine of a token": async ({ one, made, byAll }, turn) => {
    const { token } = await one.client(EnrollmentService, apiKey(made)).createEnrollmentToken({
      ...{ locationId: made.location_id, name: `token ${turn}`, maxMachines: 1 },
    });
    return {
      calls: byAll((node, at) =>
        node.client(EnrollmentService).enroll({
          ...{ token, deviceKey: `device-${turn}-${at}`.padEnd(40, "x") },
          device: { hostName: `device-${turn}-${at}` },
        })
      ),
    };
  },
  "the name of a module": ({ made, byAll }, turn) => ({
    calls: byAll((node) =>
      node.app(made).createModule({ organizationId: made.org_id, name: `module-${turn}` })
    ),
  }),
  "a version of a package": ({ made, byAll }, turn) => ({
    calls: byAll((node, at) =>
      createPackage(node.client(PackageService, apiKey(made)), made.org_id, "m", {
        ...{ version: `1.0.${turn}`, contents: gzip(`${at}`) },
      })
    ),
  }),
  // Each node has a key file of its own here; the first release makes the key that counts.
  "the first key of releases": ({ one, other, made }, turn) => ({
    calls: [one, other].map((node, at) => () =>
      addRelease(releases(node, made), `${turn + 1}.0.${at}`)
    ),
  }),
  "a version of a model": ({ made, datasetId, script, byAll }, turn) => ({
    calls: byAll((node) =>
      node.client(MLTrainingService, apiKey(made)).submitCustomTrainingJob({
        ...{ organizationId: made.org_id, datasetId, modelName: "shapes", modelVersion: `${turn}` },
        ...{ registryItemId: `${made.org_id}:trainer`, registryItemVersion: script },
      })
    ),
  }),
  "an upload, which is stored once": ({ made, byAll }, turn) => ({
    calls: byAll((node) => {
      const sync = node.client(DataSyncService, partSecret(made));
      return uploadTemperatures(sync, made.part_id, NOON + turn * 60_000, [1, 2, 3]);
    }),
    all: true,
  }),
  "an export, which runs once": async ({ one, made, byAll }, turn) => {
    const { id: datasetId } = await one.client(DatasetService, apiKey(made)).createDataset({
      ...{
        organizationId: made.org_id,
        name: `sequences ${turn}`,
        type: DatasetType.SEQUENCE_DATA,
      },
    });
    return {
      calls: byAll((node) =>
        node.client(DatasetService, apiKey(made)).startSequenceDatasetExport({ datasetId })
      ),
      all: true,
    };
  },
};

Deno.test({
  name: "what callers of two nodes want at once, as many get as may have it",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using pair = await Pair.open(systemClock, { training: { runner: new FakeRunner() } });
    const it = await contest(pair);
    for (const [what, prepare] of Object.entries(RACES)) {
      for (let turn = 0; turn < TURNS; turn++) {
        const { calls, all } = await prepare(it, turn);
        const ends = await Promise.allSettled(calls.map((call) => call()));
        const reasons = ends.flatMap((end) => end.status === "rejected" ? [end.reason] : []);
        assert.equal(
          calls.length - reasons.length,
          all ? calls.length : 1,
          `${what}: ${reasons.join("; ")}`,
        );
        for (const reason of reasons) {
          const { code, message } = ConnectError.from(reason);
          assert.ok(code !== Code.Unknown && code !== Code.Internal, `${what}: ${message}`);
        }
      }
    }
    assert.equal(await it.count("release_keys"), 1);
    assert.equal(await it.count("tabular_readings"), 3 * TURNS);
    assert.equal(await it.count("sequence_exports"), TURNS);
  },
});

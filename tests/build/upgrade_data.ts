import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { PackageService } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { type ApiKey, signIn } from "../../tools/run/cloud_api.ts";
import { eventually, type Rig } from "../e2e/rig.ts";
import { uploadModel } from "../e2e/upload_package.ts";

const SENSOR = "kept";
const MODEL = "kept-model";
const PERSON = "kept@example.com";
const AT = { seconds: 1_700_000_000n, nanos: 0 };

/** What users have put into a cloud of one version, to be looked for in that of another. */
export class KeptData {
  private constructor(
    private readonly key: ApiKey,
    /** Early versions have no people. */
    private readonly hasPerson: boolean,
  ) {}

  /** Puts in a reading, a package, a key and, where the cloud has people, an invited person. */
  static async save(rig: Rig): Promise<KeptData> {
    const { bootstrapped: { org_id: organizationId, part_secret }, partId } = rig;
    const part = await signIn(rig.cloudUrl, { id: partId, key: part_secret, type: "robot-secret" });
    await part.client(DataSyncService).dataCaptureUpload({
      metadata: {
        ...{ partId, componentType: "rdk:component:sensor", componentName: SENSOR },
        ...{ methodName: "Readings", type: DataType.TABULAR_SENSOR },
      },
      sensorContents: [{
        metadata: { timeRequested: AT, timeReceived: AT },
        data: { case: "struct", value: { readings: { level: 7 } } },
      }],
    });
    await uploadModel(rig, MODEL, "1.0.0", { "model.txt": "weights" });
    const app = (await rig.cloud()).client(AppService);
    const key = await app.createKey({
      name: "kept",
      authorizations: [{
        authorizationType: "role",
        authorizationId: "organization_owner",
        ...{ resourceType: "organization", resourceId: organizationId, organizationId },
        identityType: "api-key",
      }],
    });
    const invitation = { organizationId, email: PERSON, sendEmailInvite: false };
    const hasPerson = await app.createOrganizationInvite(invitation).then(() => true, (error) => {
      if (ConnectError.from(error).code === Code.Unimplemented) return false;
      throw error;
    });
    return new KeptData({ id: key.id, key: key.key }, hasPerson);
  }

  /** Looks for all of it, signed in with the key. */
  async check(rig: Rig): Promise<void> {
    const { org_id: organizationId } = rig.bootstrapped;
    const cloud = await signIn(rig.cloudUrl, this.key);
    const filter = { componentName: SENSOR };
    const found = await eventually("the reading is there", async () => {
      const { data } = await cloud.client(DataService).tabularDataByFilter({
        dataRequest: { filter, limit: 10n },
      });
      return data.length > 0 && data;
    });
    assert.deepEqual(found.map(({ data }) => data), [{ readings: { level: 7 } }]);
    assert.equal(found[0]?.timeReceived?.seconds, AT.seconds);
    const { package: model } = await cloud.client(PackageService).getPackage({
      ...{ id: `${organizationId}/${MODEL}`, version: "1.0.0", includeUrl: true },
    });
    const file = await fetch(model?.url ?? "");
    assert.equal(file.status, 200, await file.text());
    if (!this.hasPerson) return;
    const { invites } = await cloud.client(AppService).listOrganizationMembers({ organizationId });
    assert.deepEqual(invites.map(({ email }) => email), [PERSON]);
  }
}

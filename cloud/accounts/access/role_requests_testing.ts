import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { encodeSdp } from "../../../shared/rtc/signaling/sdp.ts";

/** Ids that requests name, by what they are of. */
export type Ids = Readonly<Record<string, string>>;

/** The stage `{"$limit": 1}`. */
export const BSON_LIMIT = new Uint8Array(
  [17, 0, 0, 0, 16, 36, 108, 105, 109, 105, 116, 0, 1, 0, 0, 0, 0],
);

/**
 * What calls request whose requests need more than ids, by `service/method` without the package.
 */
function particularRequests(ids: Ids): Readonly<Record<string, JsonObject>> {
  const id = (name: string) => ids[name] ?? "";
  const organizationId = id("organization");
  const role = (authorizationId: string): JsonObject => ({
    authorizationType: "role",
    authorizationId,
    resourceType: "robot",
    resourceId: id("robot"),
    identityType: "api-key",
    identityId: id("key"),
  });
  const invited = { organizationId, email: id("invited") };
  const files = { binaryDataIds: [id("binary")] };
  const mine = { filter: { organizationIds: [organizationId] } };
  const box = { binaryDataId: id("binary"), label: "cup", xMaxNormalized: 1, yMaxNormalized: 1 };
  const packed = { id: `${organizationId}/arms`, version: "1.0.0", type: "PACKAGE_TYPE_MODULE" };
  return {
    "AppService/CreateOrganizationInvite": { organizationId, email: "new@example.com" },
    "AppService/UpdateOrganizationInviteAuthorizations": {
      ...invited,
      addAuthorizations: [role("robot_operator")],
    },
    "AppService/DeleteOrganizationInvite": invited,
    "AppService/ResendOrganizationInvite": { ...invited, sendEmailInvite: false },
    "AppService/GetRobotPartByNameAndLocation": {
      name: "demo-main",
      locationId: id("location"),
    },
    "AppService/AddRole": { authorization: role("robot_operator") },
    "AppService/RemoveRole": { authorization: role("robot_operator") },
    "AppService/ChangeRole": {
      oldAuthorization: role("robot_operator"),
      newAuthorization: role("robot_owner"),
    },
    "AppService/CreateKey": { name: "k", authorizations: [role("robot_operator")] },
    "AppService/GetOrganizationNamespaceAvailability": { publicNamespace: "acme" },
    "AppService/GetRegistryItem": { itemId: id("module") },
    "RegistryService/ListItemUsers": { itemId: id("module") },
    "RegistryService/ListModels": { moduleIds: [id("module")] },
    "RegistryService/SetModelSchemas": { moduleId: id("module") },
    "AppService/UpdateRegistryItem": {
      itemId: id("module"),
      type: "PACKAGE_TYPE_MODULE",
      description: "x",
      visibility: "VISIBILITY_PRIVATE",
    },
    "AppService/DeleteRegistryItem": { itemId: id("module") },
    "AppService/CheckPermissions": {
      permissions: [{
        resourceType: "robot",
        resourceId: id("robot"),
        permissions: ["read_robot"],
      }],
    },
    "AppService/OrganizationSetSupportEmail": { orgId: organizationId, email: "a@b.example" },
    "AppService/SetConfigProperty": {
      robotPartId: id("part"),
      propertyChanges: [{ path: "debug", value: true }],
    },
    "AppService/RenameRegistryItem": { itemId: id("module"), newName: "hands" },
    "AppService/TransferRegistryItem": { itemId: id("module"), newPublicNamespace: "theirs" },
    "AppService/DeprecateRegistryItem": { itemId: id("module"), message: "old" },
    "AppService/UndeprecateRegistryItem": { itemId: id("module") },
    "AppService/DeprecateRegistryItemVersion": { itemId: id("module"), version: "1.0.0" },
    "AppService/UndeprecateRegistryItemVersion": { itemId: id("module"), version: "1.0.0" },
    "AppService/UpdateModule": { moduleId: id("module"), visibility: "VISIBILITY_PRIVATE" },
    "AppService/GetModule": { moduleId: id("module") },
    "AppService/UploadModuleFile": {
      moduleFileInfo: { moduleId: id("module"), version: "1.0.0", platform: "linux/amd64" },
    },
    "PackageService/CreatePackage": {
      info: {
        organizationId,
        name: "m",
        version: "1.0.0",
        type: "PACKAGE_TYPE_ARCHIVE",
      },
    },
    "PackageService/DeletePackage": packed,
    "PackageService/GetPackage": packed,
    "EnrollmentService/CreateEnrollmentToken": { locationId: id("location"), name: "t" },
    "EnrollmentService/DeleteEnrollmentToken": { id: id("enrollmentToken") },
    "EnrollmentService/ApproveEnrollment": { id: id("enrollment") },
    "EnrollmentService/RefuseEnrollment": { id: id("enrollment") },
    "EnrollmentService/Enroll": { token: "wrong", deviceKey: "k".repeat(40) },
    "EnrollmentService/CreateMachines": {
      locationId: id("location"),
      machines: [{ name: "new" }],
    },
    "DataService/TabularDataBySQL": { organizationId, sqlQuery: "SELECT 1 AS one" },
    "DataService/ExportTabularData": {
      partId: id("part"),
      resourceName: "climate",
      resourceSubtype: "rdk:component:sensor",
      methodName: "Readings",
    },
    "DataService/GetLatestTabularData": {
      partId: id("part"),
      resourceName: "climate",
      resourceSubtype: "rdk:component:sensor",
      methodName: "Readings",
    },
    "DataService/DeleteBinaryDataByFilter": mine,
    "DataService/AddTagsToBinaryDataByFilter": { ...mine, tags: ["a"] },
    "DataService/RemoveTagsFromBinaryDataByFilter": { ...mine, tags: ["a"] },
    "DataService/BinaryDataByIDs": files,
    "DataService/DeleteBinaryDataByIDs": files,
    "DataService/AddTagsToBinaryDataByIDs": { ...files, tags: ["a"] },
    "DataService/RemoveTagsFromBinaryDataByIDs": { ...files, tags: ["a"] },
    "DataService/AddBoundingBoxToImageByID": box,
    "DataService/UpdateBoundingBox": { binaryDataId: id("binary"), bboxId: "b", label: "x" },
    "DataService/RemoveBoundingBoxFromImageByID": { binaryDataId: id("binary"), bboxId: "b" },
    "DataService/AddBinaryDataToDatasetByIDs": { ...files, datasetId: id("dataset") },
    "DataService/RemoveBinaryDataFromDatasetByIDs": { ...files, datasetId: id("dataset") },
    "DataService/AddSequencesToDataset": { datasetId: id("dataset"), sequenceIds: ["s"] },
    "DataService/RemoveSequencesFromDataset": { datasetId: id("dataset"), sequenceIds: ["s"] },
    "DataService/SequencesByDatasetID": { datasetId: id("dataset") },
    "DataService/GetSavedQuery": { id: id("query") },
    "DataService/UpdateSavedQuery": { id: id("query"), name: "x" },
    "DataService/DeleteSavedQuery": { id: id("query") },
    "DataService/CreateBinaryDataSignedURL": { binaryDataId: id("binary") },
    "DataPipelinesService/GetDataPipeline": { id: id("pipeline") },
    "DataPipelinesService/CreateDataPipeline": {
      organizationId,
      name: "p",
      schedule: "@hourly",
      mqlBinary: [BSON_LIMIT.toBase64()],
    },
    "DataPipelinesService/RenameDataPipeline": { id: id("pipeline"), name: "x" },
    "DataPipelinesService/DeleteDataPipeline": { id: id("pipeline") },
    "DataPipelinesService/EnableDataPipeline": { id: id("pipeline") },
    "DataPipelinesService/DisableDataPipeline": { id: id("pipeline") },
    "DataPipelinesService/ListDataPipelineRuns": { id: id("pipeline") },
    "MLInferenceService/GetInference": {
      organizationId,
      registryItemId: `${organizationId}:absent`,
      binaryDataId: id("binary"),
    },
    "DatasetService/DeleteDataset": { id: id("dataset") },
    "DatasetService/RenameDataset": { id: id("dataset"), name: "x" },
    "DatasetService/MergeDatasets": {
      datasetIds: [id("dataset")],
      name: "x",
      organizationId,
    },
    "DatasetService/StartSequenceDatasetExport": { datasetId: id("dataset") },
    "DatasetService/GetSequenceDatasetExport": { jobId: id("export") },
    "DataService/CreateSequence": {
      partId: id("part"),
      resources: [{ resourceName: "eye", methodName: "ReadImage" }],
      startTime: "2026-01-01T12:00:00Z",
      endTime: "2026-01-01T12:00:10Z",
    },
    "DataService/GetSequence": { id: id("sequence") },
    "DataService/UpdateSequence": {
      id: id("sequence"),
      sequenceTags: ["a"],
      fieldMask: "sequenceTags",
    },
    "DataService/DeleteSequence": { id: id("sequence") },
    "DataService/GetSequenceBinaryData": { sequenceId: id("sequence") },
    "StoredDataService/PlotTabularData": {
      partId: id("part"),
      resourceName: "climate",
      methodName: "Readings",
      path: "readings.temperature",
    },
    "DataService/BinaryDataByFilter": { dataRequest: mine },
    "DataService/TabularDataByFilter": { dataRequest: mine },
    "DatasetService/ListDatasetsByIDs": { ids: [id("dataset")] },
    "MLTrainingService/GetTrainingJob": { id: id("job") },
    "MLTrainingService/GetTrainingJobLogs": { id: id("job") },
    "MLTrainingService/CancelTrainingJob": { id: id("job") },
    "MLTrainingService/DeleteCompletedTrainingJob": { id: id("job") },
    "AccountService/EndSession": { sessionId: id("session") },
    "SignalingService/Call": { sdp: encodeSdp({ type: "offer", sdp: "v=0" }) },
    "SignalingService/CallUpdate": { uuid: id("call"), done: true },
  };
}

/** `Service/Method`, as the table of calls names it. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.name}/${method.name}`;
}

/** The host whose machine a call is for: signalling names it in the metadata. */
export function hostFor(method: DescMethod, ids: Ids): string | undefined {
  return method.parent.name === "SignalingService" ? ids["host"] : undefined;
}

/** A request that names the things of the rig wherever a field requests one. */
export function requestFor(method: DescMethod, ids: Ids): Message {
  const particular = particularRequests(ids)[nameOf(method)];
  if (particular) return fromJson(method.input, particular);
  return filled(method.input, ids, method.name, 0);
}

function filled(type: DescMessage, ids: Ids, call: string, depth: number): Message {
  const message = create(type);
  const target = reflect(type, message);
  for (const field of type.fields) {
    const value = valueOf(field, ids, call);
    if (value !== undefined) {
      if (field.fieldKind === "scalar") target.set(field, value);
      else if (field.fieldKind === "list") target.get(field).add(value);
    } else if (
      field.fieldKind === "message" && depth < 3 &&
      /metadata|organizationIdentity|source|filter/i.test(field.localName)
    ) {
      target.set(field, reflect(field.message, filled(field.message, ids, call, depth + 1)));
    }
  }
  return message;
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^(organization|org|owner)Ids?$/i, "organization"],
  [/^(location|locationId|locationIds)$/i, "location"],
  [/^(robot|machine)Ids?$/i, "robot"],
  [/^(robotP|p)artIds?$/i, "part"],
  [/^fragmentId$/i, "fragment"],
  [/^keyId$/i, "key"],
  [/^userId$/i, "user"],
  [/^email$/i, "email"],
];
const OF_ID: readonly (readonly [RegExp, string])[] = [
  [/Key/, "key"],
  [/Fragment/, "fragment"],
  [/RobotPart|Config$|Certificate|Log$|NeedsRestart|DeviceAgent/, "part"],
  [/Robot/, "robot"],
];

function valueOf(field: DescField, ids: Ids, call: string): string | undefined {
  const isText = (field.fieldKind === "scalar" && field.scalar === ScalarType.STRING) ||
    (field.fieldKind === "list" && field.listKind === "scalar" &&
      field.scalar === ScalarType.STRING);
  if (!isText) return undefined;
  if (field.localName === "id") {
    const what = OF_ID.find(([pattern]) => pattern.test(call))?.[1];
    return what && ids[what];
  }
  const what = NAMES.find(([pattern]) => pattern.test(field.localName))?.[1];
  if (what) return ids[what];
  return /^(name|partName|newName)$/.test(field.localName) ? "named" : undefined;
}

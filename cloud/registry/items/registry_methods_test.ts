import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import {
  ModelFramework,
  ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { RegistryItemStatus, Visibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { createPackage, gzip, uploadModule } from "../packages/packages_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const MODEL = { api: "rdk:component:sensor", model: "acme:weather:station" };

Deno.test("A module is made, described, uploaded in versions, listed and removed", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const organizationId = made.org_id;
  const { moduleId } = await app.createModule({ organizationId, name: "weather" });
  assert.equal(moduleId, `${organizationId}:weather`);
  await app.updateModule({
    moduleId,
    description: "Weather stations",
    url: "https://example.com/weather",
    models: [MODEL],
    entrypoint: "bin/weather",
    firstRun: "setup.sh",
    markdownDescription: "# Weather",
  });
  const transport = cloud.transport(apiKey(made));
  const entrypoint = "bin/weather";
  await uploadModule(transport, moduleId, {
    version: "1.0.0",
    platform: "linux/amd64",
    entrypoint,
  });
  await uploadModule(transport, moduleId, {
    version: "1.0.0",
    platform: "linux/arm64",
    entrypoint,
  });
  await uploadModule(transport, moduleId, { version: "1.1.0", entrypoint: "bin/other" });

  const { module } = await app.getModule({ moduleId });
  assert.ok(module);
  assert.equal(module.name, "weather");
  assert.equal(module.description, "Weather stations");
  assert.equal(module.visibility, Visibility.PRIVATE);
  assert.equal(module.entrypoint, "bin/other");
  assert.equal(module.firstRun, "setup.sh");
  assert.equal(module.url, "https://example.com/weather");
  assert.deepEqual(module.models.map(({ api, model }) => ({ api, model })), [MODEL]);
  assert.equal(module.markdownDescription, undefined);
  const versions = module.versions.toSorted((a, b) => a.version.localeCompare(b.version));
  assert.deepEqual(
    versions.map(({ version, files, entrypoint }) => [
      version,
      files.map(({ platform }) => platform).sort(),
      entrypoint,
    ]),
    [
      ["1.0.0", ["linux/amd64", "linux/arm64"], "bin/weather"],
      ["1.1.0", ["any"], "bin/other"],
    ],
  );
  const { item } = await app.getRegistryItem({
    itemId: moduleId,
    includeMarkdownDocumentation: true,
  });
  assert.equal(item?.metadata.case, "moduleMetadata");
  assert.equal(item.metadata.value.markdownDescription, "# Weather");
  assert.equal(item.metadata.value.versions.length, 2);
  assert.deepEqual((await app.listModules({})).modules.map((one) => one.moduleId), [moduleId]);
  await app.deleteRegistryItem({ itemId: moduleId });
  assert.equal((await failure(app.getModule({ moduleId }))).code, Code.NotFound);
  const blobs = [...Deno.readDirSync(cloud.path("blobs"))].filter((entry) => entry.isFile);
  assert.deepEqual(blobs, []);
});

Deno.test("The registry names the field that is wrong", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const organizationId = made.org_id;
  const { moduleId } = await app.createModule({ organizationId, name: "m" });
  await app.createRegistryItem({ organizationId, name: "cats", type: PackageType.ML_MODEL });
  const update = (fields: Parameters<typeof app.updateModule>[0]) =>
    failure(app.updateModule({ moduleId, ...fields }));
  const upload = (info: { version?: string; platform?: string; platformTags?: string[] }) =>
    failure(app.uploadModuleFile(async function* () {
      const value = { moduleId, version: "1.0.0", platform: "any", ...info };
      yield await Promise.resolve({ moduleFile: { case: "moduleFileInfo" as const, value } });
      yield { moduleFile: { case: "file" as const, value: gzip() } };
    }()));
  const cases: [Promise<{ code: number; message: string }>, Code, RegExp][] = [
    [
      failure(app.createModule({ organizationId, name: "a b" })),
      Code.InvalidArgument,
      /^name: "a b"/,
    ],
    [
      failure(app.createModule({ organizationId, name: "m" })),
      Code.AlreadyExists,
      /^name: .*module/,
    ],
    [
      failure(app.createRegistryItem({ organizationId, name: "x", type: 9 as PackageType })),
      Code.InvalidArgument,
      /^type: 9 is no type/,
    ],
    [update({ entrypoint: "../run" }), Code.InvalidArgument, /^entrypoint: .*leaves the archive/],
    [update({ entrypoint: "/run" }), Code.InvalidArgument, /^entrypoint: /],
    [update({ firstRun: "a/../../b" }), Code.InvalidArgument, /^first_run: /],
    [
      update({ models: [MODEL, { ...MODEL, model: "station" }] }),
      Code.InvalidArgument,
      /^models\[1\]\.model: "station" has not the form of acme:weather:station/,
    ],
    [update({ url: "javascript:x" }), Code.InvalidArgument, /^url: /],
    [update({ description: "x".repeat(2_000) }), Code.InvalidArgument, /^description: /],
    [
      update({ visibility: Visibility.PUBLIC }),
      Code.FailedPrecondition,
      /^visibility: .*namespace/,
    ],
    [upload({ version: "one" }), Code.InvalidArgument, /^module_file_info\.version: "one"/],
    [upload({ platform: "linux" }), Code.InvalidArgument, /^module_file_info\.platform: "linux"/],
    [upload({ platformTags: ["cuda"] }), Code.InvalidArgument, /^module_file_info\.platform_tags/],
    [failure(app.getModule({ moduleId: "m" })), Code.NotFound, /^no registry item with id "m"/],
    [failure(app.getModule({ moduleId: "" })), Code.InvalidArgument, /id is missing/],
    [failure(app.getModule({ moduleId: `${organizationId}:cats` })), Code.NotFound, /^no module/],
  ];
  for (const [call, code, message] of cases) {
    const failed = await call;
    assert.match(failed.message, message);
    assert.equal(failed.code, code, failed.message);
  }
});

Deno.test("A namespace begins the ids of an organisation's items, and belongs to one", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const app = cloud.app(made);
  const organizationId = made.org_id;
  const set = (newPublicNamespace: string) =>
    app.updateOrganizationNamespace({ organizationId, newPublicNamespace });

  const { organization } = await set("acme");
  assert.equal(organization?.publicNamespace, "acme");
  await set("acme");
  const { moduleId } = await app.createModule({ organizationId, name: "m" });
  assert.equal(moduleId, "acme:m");
  for (const id of ["acme:m", `${organizationId}:m`]) {
    assert.equal((await app.getModule({ moduleId: id })).module?.moduleId, "acme:m");
  }
  const organizations = await app.listOrganizations({});
  assert.equal(organizations.organizations[0]?.publicNamespace, "acme");
  const available = async (publicNamespace: string, organizationId = "") =>
    (await cloud.app(other).getOrganizationNamespaceAvailability({
      publicNamespace,
      organizationId,
    })).available;
  assert.deepEqual(
    [await available("acme"), await available("acme", organizationId), await available("free")],
    [false, true, true],
  );
  const taken = await failure(
    cloud.app(other).updateOrganizationNamespace({
      organizationId: other.org_id,
      newPublicNamespace: "acme",
    }),
  );
  assert.equal(taken.code, Code.AlreadyExists);
  const reserved = ["viam", "rdk", "machine", "machine-server", "builtin", "latest"];
  for (const wrong of ["", "Acme", "-a", "a_b", organizationId, "x".repeat(51), ...reserved]) {
    assert.equal((await failure(set(wrong))).code, Code.InvalidArgument, wrong);
  }
  const foreign = await failure(
    cloud.app(other).updateOrganizationNamespace({
      organizationId,
      newPublicNamespace: "mine",
    }),
  );
  assert.equal(foreign.code, Code.NotFound);
});

Deno.test("A namespace that an organisation left is given to no other one", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const take = (key: typeof made, newPublicNamespace: string) =>
    cloud.app(key).updateOrganizationNamespace({
      organizationId: key.org_id,
      newPublicNamespace,
    });
  await take(made, "acme");
  await uploadModule(cloud.transport(apiKey(made)), "acme:m");
  await take(made, "acme-robots");
  const taken = await failure(take(other, "acme"));
  assert.equal(taken.code, Code.AlreadyExists);
  assert.match(taken.message, /never given to a second one/);
  const { available } = await cloud.app(other).getOrganizationNamespaceAvailability({
    publicNamespace: "acme",
  });
  assert.equal(available, false);
  // Its own names it may have again; with every new one there is one less for others.
  await take(made, "acme");
  for (let n = 3; n <= 10; n++) await take(made, `acme-${n}`);
  assert.equal((await failure(take(made, "acme-11"))).code, Code.ResourceExhausted);
  await take(made, "acme-robots");
  assert.equal((await cloud.app(made).getModule({ moduleId: "acme-robots:m" })).module?.name, "m");
});

Deno.test("A private item is its organisation's own, a public one is everybody's to read", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const app = cloud.app(made);
  const stranger = cloud.app(other);
  await app.updateOrganizationNamespace({
    organizationId: made.org_id,
    newPublicNamespace: "acme",
  });
  const transport = cloud.transport(apiKey(made));
  await uploadModule(transport, "acme:m");
  const asPart = cloud.client(PackageService, partSecret(other));
  const get = () => asPart.getPackage({ id: "acme/m", includeUrl: true });

  assert.equal((await failure(stranger.getModule({ moduleId: "acme:m" }))).code, Code.NotFound);
  assert.equal((await failure(get())).code, Code.NotFound);
  assert.deepEqual((await stranger.listModules({})).modules, []);
  const undescribed = app.updateModule({ moduleId: "acme:m", visibility: Visibility.PUBLIC });
  assert.match((await failure(undescribed)).message, /^description: a public item needs one/);
  await app.updateRegistryItem({
    itemId: "acme:m",
    type: PackageType.MODULE,
    description: "Something",
    visibility: Visibility.PUBLIC_UNLISTED,
  });
  assert.equal((await stranger.getModule({ moduleId: "acme:m" })).module?.name, "m");
  assert.deepEqual((await stranger.listModules({})).modules, []);
  await app.updateModule({ moduleId: "acme:m", visibility: Visibility.PUBLIC });
  assert.equal((await stranger.listModules({})).modules.length, 1);
  assert.equal((await get()).package?.info?.version, "1.0.0");
  const codes = [
    await failure(stranger.updateModule({ moduleId: "acme:m", description: "mine" })),
    await failure(stranger.deleteRegistryItem({ itemId: "acme:m" })),
    await failure(
      cloud.client(PackageService, apiKey(other)).deletePackage({
        id: "acme/m",
        version: "1.0.0",
      }),
    ),
  ].map(({ code }) => code);
  assert.deepEqual(codes, [Code.PermissionDenied, Code.PermissionDenied, Code.PermissionDenied]);
});

Deno.test("ListRegistryItems() filters and goes on after an item", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const organizationId = made.org_id;
  await uploadModule(cloud.transport(apiKey(made)), `${organizationId}:weather`, {
    platform: "linux/arm64",
  });
  await app.createModule({ organizationId, name: "empty" });
  const packages = cloud.client(PackageService, apiKey(made));
  await createPackage(packages, organizationId, "cats", { type: PackageType.ML_MODEL });
  const list = async (filter: Parameters<typeof app.listRegistryItems>[0]) => {
    const { items } = await app.listRegistryItems({ organizationId, ...filter });
    return items.map(({ name }) => name);
  };

  assert.deepEqual(await list({}), ["cats", "empty", "weather"]);
  assert.deepEqual(await list({ types: [PackageType.MODULE] }), ["empty", "weather"]);
  assert.deepEqual(await list({ platforms: ["linux/arm64"] }), ["cats", "weather"]);
  assert.deepEqual(await list({ platforms: ["linux/amd64"] }), ["cats"]);
  assert.deepEqual(await list({ statuses: [RegistryItemStatus.IN_DEVELOPMENT] }), ["empty"]);
  assert.deepEqual(await list({ searchTerm: "WEATH" }), ["weather"]);
  assert.deepEqual(await list({ visibilities: [Visibility.PUBLIC] }), []);
  assert.deepEqual(await list({ pageToken: `${organizationId}:cats` }), ["empty", "weather"]);
  const wrong = await failure(app.listRegistryItems({ organizationId, pageToken: "x" }));
  assert.match(wrong.message, /^page_token/);
});

Deno.test("A training script that is only uploaded says in the registry what the upload said", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const packages = cloud.client(PackageService, apiKey(made));
  const itemId = `${made.org_id}:shapes`;
  const type = PackageType.ML_TRAINING;
  const upload = (version: string, model_type: string) =>
    createPackage(packages, made.org_id, "shapes", {
      type,
      version,
      metadata: { model_type, model_framework: "tflite", visibility: "private" },
    });
  const details = async () => {
    const { item } = await app.getRegistryItem({ itemId });
    assert.ok(item?.metadata.case === "mlTrainingMetadata");
    return item.metadata.value;
  };
  await upload("1735689600000", "single_label_classification");
  await upload("1735689600001", "object_detection");
  const uploaded = await details();
  assert.deepEqual(uploaded.versions.map(({ version }) => version).toSorted(), [
    "1735689600000",
    "1735689600001",
  ]);
  assert.equal(uploaded.modelType, ModelType.OBJECT_DETECTION);
  assert.equal(uploaded.modelFramework, ModelFramework.TFLITE);
  const value = { modelType: ModelType.MULTI_LABEL_CLASSIFICATION, draft: true };
  const metadata = { case: "updateMlTrainingMetadata" as const, value };
  await app.updateRegistryItem({ itemId, type, description: "Learns shapes", metadata });
  const updated = await details();
  assert.deepEqual([updated.modelType, updated.draft], [value.modelType, true]);
});

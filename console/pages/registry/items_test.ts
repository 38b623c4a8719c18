import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { RegistryItemSchema } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { versionsOf } from "./items.ts";

Deno.test("versionsOf() lists modules by number and models by date, newest first", () => {
  const version = (version: string, message?: string) => ({
    version,
    files: [{ platform: "linux/amd64", uploadedAt: timestampFromMs(0) }],
    ...(message === undefined ? {} : { deprecatedStatus: { message } }),
  });
  const versions = [version("1.9.0", "use 1.10"), version("1.10.0")];
  const module = create(RegistryItemSchema, {
    metadata: { case: "moduleMetadata", value: { versions } },
  });
  const at = new Date(0);
  assert.deepEqual(versionsOf(module), [
    { version: "1.10.0", platforms: ["linux/amd64"], at, deprecated: undefined },
    { version: "1.9.0", platforms: ["linux/amd64"], at, deprecated: "use 1.10" },
  ]);
  const detailedVersions = [
    { version: "z", createdOn: timestampFromMs(1) },
    { version: "a", createdOn: timestampFromMs(2) },
  ];
  const model = create(RegistryItemSchema, {
    metadata: { case: "mlModelMetadata", value: { detailedVersions } },
  });
  assert.deepEqual(versionsOf(model).map((each) => each.version), ["a", "z"]);
  assert.deepEqual(versionsOf(create(RegistryItemSchema)), []);
});

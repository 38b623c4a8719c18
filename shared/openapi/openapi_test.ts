import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { AppService } from "../gen/viam/app/v1/app_pb.ts";
import { DataService } from "../gen/viam/app/data/v1/data_pb.ts";
import { openApi } from "./openapi.ts";

const WORDS = { title: "cloud", description: "All calls." };
const services = [{ service: AppService }, { service: DataService }];

Deno.test("openApi() makes a document that a validator of OpenAPI 3.1 takes", async () => {
  const document = openApi({ ...WORDS, services, version: "1.0.0", url: "https://cloud.example" });
  const verdict = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  assert.deepEqual(verdict.errors ?? [], []);
  assert.equal(verdict.valid, true);
  const broken = await new Validator().validate({ ...document, paths: { x: 1 } });
  assert.equal(broken.valid, false);
});

Deno.test("openApi() has every unary method, and a schema for every reference", () => {
  const document = openApi({ ...WORDS, services, version: "1", url: "https://x" });
  const paths = Object.keys(document["paths"] as object);
  for (const { service } of services) {
    for (const { name, methodKind } of service.methods) {
      const path = `/${service.typeName}/${name}`;
      assert.equal(paths.includes(path), methodKind === "unary", path);
    }
  }
  const text = JSON.stringify(document);
  const { schemas } = document["components"] as { schemas: Record<string, object> };
  const used = [...text.matchAll(/#\/components\/schemas\/([\w.]+)/g)].map(([, name]) => name!);
  assert.ok(used.length > 500);
  for (const name of used) assert.notDeepEqual(schemas[name] ?? {}, {}, name);
  assert.match(text, /TailRobotPartLogs/);
});

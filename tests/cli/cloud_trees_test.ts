/** The commands that `machine` has in common with the cloud's own program, over the network. */
import assert from "node:assert/strict";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../shared/cloud/client/connection.ts";
import { NO_TERMINAL } from "../../shared/commands/output/terminal_testing.ts";
import { writeArchive } from "../../shared/commands/upload/archive_testing.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CliRig } from "./rig.ts";

const NOON = Date.UTC(2026, 0, 2, 12);

/** Uploads a reading and an image as the machine `demo` does. */
async function capture(rig: CliRig, at = NOON): Promise<void> {
  const { part_id: partId, part_secret } = rig.made;
  const connection = CloudConnection.open({
    appAddress: rig.cloud.url,
    credentials: { type: "robot-secret", entity: partId, payload: new Secret(part_secret) },
    log: memoryLogger("machine"),
  });
  try {
    const sync = connection.client(DataSyncService);
    const time = timestampFromMs(at);
    const metadata = { timeRequested: time, timeReceived: time };
    const of = { partId, componentType: "rdk:component:sensor", componentName: "climate" };
    await sync.dataCaptureUpload({
      metadata: { ...of, methodName: "Readings", type: DataType.TABULAR_SENSOR },
      sensorContents: [
        { metadata, data: { case: "struct", value: { readings: { temperature: 1.5 } } } },
      ],
    });
    const camera = { ...of, componentType: "rdk:component:camera", componentName: "eye" };
    await sync.dataCaptureUpload({
      metadata: {
        ...{ ...camera, methodName: "ReadImage", type: DataType.BINARY_SENSOR },
        ...{ fileExtension: ".jpeg", tags: ["red"] },
      },
      sensorContents: [{ metadata, data: { case: "binary", value: new Uint8Array(7) } }],
    });
  } finally {
    connection.close();
  }
}

Deno.test("data and datasets", async () => {
  await using rig = await CliRig.open();
  await capture(rig);
  const [source] = await rig.json("data", "sources");
  assert.deepEqual([source.machineName, source.resourceName], ["demo", "climate"]);
  const file = rig.path("climate.csv");
  const exported = await rig.json("data", "export", "--resource", "climate", "--out", file);
  assert.equal(exported.bytes, (await Deno.stat(file)).size);
  assert.match(await Deno.readTextFile(file), /readings\.temperature\r\n.*,1\.5\r\n$/);
  assert.match((await rig.run(["data", "export", "--resource", "climate"])).out, /,1\.5\r\n$/);
  assert.deepEqual(await rig.json("data", "query", "SELECT count(*) AS n FROM readings"), [
    { n: 1 },
  ]);
  const [picture] = await rig.json("data", "files", "--machine", "demo");
  assert.deepEqual([picture.resource_name, picture.size, picture.tags], ["eye", 7, ["red"]]);
  await rig.run(["datasets", "create", "shapes"]);
  await rig.run(["datasets", "add", "shapes", "--tag", "red"]);
  const [dataset] = await rig.json("datasets", "list");
  assert.deepEqual([dataset.name, dataset.files, dataset.bytes], ["shapes", 1, 7]);
  const downloaded = await rig.json("datasets", "download", "shapes", rig.path("shapes"));
  assert.deepEqual([downloaded.downloaded, downloaded.bytes], [1, 7]);
  assert.equal((await rig.json("data", "settings")).files, 1);
});

Deno.test("triggers preview says how often a condition would have fired, saved or of a file", async () => {
  await using rig = await CliRig.open();
  await capture(rig, Date.now() - 60_000);
  const condition = (limit: number | string) => ({
    name: "warm",
    event: {
      type: "conditional_data_ingested",
      conditional: {
        data_capture_method: "sensor:climate:Readings",
        conditions: { evals: [{ operator: "gt", value: { temperature: limit } }] },
      },
    },
    notifications: [{ type: "webhook", value: "https://example.com/hook" }],
  });
  const file = await rig.write("trigger.json", condition(1));
  const preview = async (...argv: string[]) =>
    (await rig.run(["triggers", "preview", ...argv])).out;
  assert.match(
    await preview("--file", file),
    /^would have fired once in the last 7 days: 1 upload with 1 reading\n\nRECEIVED +HOLDS +COMPARED\n\S+ +yes +temperature 1\.5 gt 1\n$/,
  );
  await rig.write("trigger.json", condition("x"));
  assert.match(await preview("--file", file), /fired 0 times.*; 1 of them cannot be compared/);
  await assert.rejects(rig.run(["triggers", "preview"]), /NAME is missing; or give --file FILE/);
  await assert.rejects(preview("warm"), /no trigger "warm" here/);
  await rig.write("trigger.json", condition(2));
  await rig.run(["triggers", "set", file]);
  assert.equal((await rig.json("triggers", "preview", "warm", "--days", "1")).readings.length, 1);
  await rig.write("trigger.json", { ...condition(2), event: { type: "part_online" } });
  await assert.rejects(
    preview("--file", file),
    /compare readings; machine triggers test sends a sample/,
  );
});

Deno.test("modules upload brings schemas of models, and refuses what is none", async () => {
  await using rig = await CliRig.open();
  await rig.run(["modules", "namespace", "acme"]);
  const api = "rdk:component:sensor";
  const upload = async (version: string, station: unknown, file = "{}") => {
    const archive = await writeArchive(rig.dir, "m.tar.gz", {
      "run": "#!/bin/sh\n",
      "meta.json": JSON.stringify({
        ...{ module_id: "acme:weather", entrypoint: "run" },
        models: [
          { api, model: "acme:weather:station", schema: station },
          { api, model: "acme:weather:bare" },
        ],
      }),
      "schemas/station.json": file,
    });
    await rig.run(["modules", "upload", archive, "--version", version]);
  };
  const schema = { type: "object", properties: { port: { type: "string" } } };
  const models = async () => await rig.json("modules", "models", "acme:weather");
  await upload("1.0.0", "./schemas/station.json", JSON.stringify(schema));
  const [station, bare] = [
    { api, model: "acme:weather:station", schema },
    { api, model: "acme:weather:bare", schema: null },
  ];
  assert.deepEqual(await models(), [station, bare]);
  assert.match(
    (await rig.run(["modules", "models", "acme:weather"])).out,
    /^MODEL +API +SCHEMA\nacme:weather:station +rdk:component:sensor +yes\n.*:bare.* -\n$/,
  );
  const refused: [unknown, string, RegExp][] = [
    ["none.json", "{}", /models\[0\] \(acme:weather:station\): .*no file "none\.json"/],
    ["schemas/station.json", "{", /schemas\/station\.json is no JSON/],
    [{ properties: { port: { type: "text" } } }, "{}", /: properties\.port\.type is "text"/],
  ];
  for (const [given, file, reason] of refused) {
    await assert.rejects(upload("1.0.1", given, file), reason);
  }
  assert.deepEqual(await models(), [station, bare]);
  await upload("1.0.1", undefined);
  assert.deepEqual((await models())[0].schema, null);
  // A version for those who stay with an older one changes nothing for the others.
  await upload("0.9.0", schema);
  assert.deepEqual((await models())[0].schema, null);
});

Deno.test("an upload and a download show a bar to who looks at a terminal, and to nobody else", async () => {
  await using rig = await CliRig.open();
  await capture(rig);
  await rig.run(["modules", "namespace", "acme"]);
  const meta = JSON.stringify({ module_id: "acme:weather", entrypoint: "run" });
  const archive = await writeArchive(rig.dir, "m.tar.gz", {
    "run": "#!/bin/sh\n",
    "meta.json": meta,
  });
  let drawn: string[] = [];
  const terminal = { ...NO_TERMINAL, isError: true, draw: (text: string) => void drawn.push(text) };
  const upload = (version: string) => ["modules", "upload", archive, "--version", version];
  await rig.run(upload("1.0.0"), { terminal });
  assert.match(drawn.join(""), /upload m\.tar\.gz {2}\[#{30}\] 100 %/);
  assert.equal(drawn.at(-1), "\r\x1b[K");
  await rig.run(["data", "download", rig.path("pictures")], { terminal });
  assert.match(drawn.join(""), /download \S+\.jpeg {2}\[#{30}\] 100 %/);
  drawn = [];
  await rig.run(upload("1.0.1"), { terminal: { ...terminal, isError: false } });
  await rig.run([...upload("1.0.2"), "--json"], { terminal });
  await rig.run([...upload("1.0.3"), "--quiet"], { terminal });
  assert.deepEqual(drawn, []);
});

Deno.test("modules, training scripts and jobs", async () => {
  await using rig = await CliRig.open();
  await rig.run(["modules", "namespace", "acme"]);
  const meta = { module_id: "acme:weather", entrypoint: "run", description: "Weather" };
  const files = { "run": "#!/bin/sh\n", "meta.json": JSON.stringify(meta) };
  const archive = await writeArchive(rig.dir, "m.tar.gz", files);
  const made = await rig.json("modules", "upload", archive, "--version", "1.0.0");
  assert.deepEqual([made.module_id, made.platform], ["acme:weather", "any"]);
  const [module] = await rig.json("modules", "list");
  assert.deepEqual([module.description, module.versions[0].version], ["Weather", "1.0.0"]);
  assert.match(
    (await rig.run(["modules", "list"])).out,
    /^acme:weather +1\.0\.0 +any +organisation/m,
  );
  await rig.run(["modules", "remove", "--name", "acme:weather", "--yes"]);
  assert.deepEqual(await rig.json("modules", "list"), []);

  assert.match(
    (await rig.run(["training", "list"])).out,
    /^no training jobs; submit one with machine training submit/,
  );
  await assert.rejects(
    rig.run(["training", "submit", "--dataset", "none", "--model", "m", "--script", "s"]),
    /no dataset "none"; there is none yet; make one with machine datasets create/,
  );
  assert.match(
    (await rig.run(["training-scripts", "list"])).out,
    /upload one with machine training-scripts upload/,
  );
  await assert.rejects(rig.run(["training", "get", "x"]), /no training job with id "x"/);
});

Deno.test("the credentials of a part are written for its owner alone", async () => {
  await using rig = await CliRig.open();
  const made = await rig.run(["machines", "create", "arm"]);
  assert.match(made.out, /; machine parts credentials \S+ --out machine\.json writes the file by/);
  const file = rig.path("arm.json");
  await rig.run(["parts", "credentials", "arm", "--out", file]);
  if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  const written = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual(await rig.json("parts", "credentials", "arm"), written);
  const { app_address, id, secret } = written.cloud;
  assert.equal(app_address, rig.cloud.url);
  const connection = CloudConnection.open({
    ...{ appAddress: app_address, log: memoryLogger("machine") },
    credentials: { type: "robot-secret", entity: id, payload: new Secret(secret) },
  });
  await connection.client(DataSyncService).dataCaptureUpload({ metadata: { partId: id } })
    .catch(({ rawMessage }) => assert.doesNotMatch(rawMessage, /credentials/));
  connection.close();

  const key = await rig.json("keys", "create", "use", "--role", "operator");
  const env = { MACHINE_CLOUD_API_KEY_ID: key.id, MACHINE_CLOUD_API_KEY: key.key };
  await assert.rejects(
    rig.run(["parts", "credentials", "arm", "--cloud", rig.cloud.url], { env }),
    /the secret of arm-main is for owners of the machine, which you are not/,
  );
});

Deno.test("an address of this computer needs no scheme", async () => {
  await using rig = await CliRig.open();
  const { host } = new URL(rig.cloud.url);
  await rig.run(["login", "--cloud", host], { env: rig.keyEnv });
  assert.equal((await rig.json("whoami")).cloud, rig.cloud.url);
});

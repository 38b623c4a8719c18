/** Changing a machine's configuration, in a browser. */
import assert from "node:assert/strict";
import { runCloudCommand } from "../../cloud/local/commands/commands_testing.ts";
import { writeArchive } from "../../shared/commands/upload/archive_testing.ts";
import { RegistryService } from "../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const sensor = (name: string, attributes: Record<string, unknown> = {}) => ({
  ...{ name, api: "rdk:component:sensor", model: "rdk:builtin:http", attributes },
});

consoleTest(
  import.meta.url,
  "a resource is added by a form, reviewed as a difference, saved and undone",
  async (rig) => {
    const { made, app } = rig;
    const config = async () =>
      JSON.parse((await app.getRobotPart({ id: made.part_id })).configJson ?? "{}") as {
        components?: { name: string; attributes: Record<string, unknown> }[];
      };
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure`);
    const { page } = opened;
    await page.getByText("No resources yet").waitFor();
    await opened.inspect("configure-empty");
    await page.getByRole("button", { name: "Add", exact: true }).first().click();
    await page.getByPlaceholder("Search models").fill("sensor http");
    await opened.inspect("configure-add");
    await page.getByRole("button", { name: "sensor rdk:builtin:http" }).click();
    await page.getByLabel("Name of the resource").fill("weather");
    await page.keyboard.press("Enter");
    await page.getByLabel("url").fill("http://127.0.0.1:9/weather");
    await page.getByLabel("interval").fill("5s");
    await opened.inspect("configure-card");
    await page.getByText("1 unsaved change").waitFor();

    // The draft outlives the page.
    await page.reload();
    await page.getByText("Your draft from before is here again.").waitFor();
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("heading", { name: "What will change" }).waitFor();
    await page.getByText("components.weather").waitFor();
    await opened.inspect("configure-review");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved. No changes.").waitFor();
    assert.deepEqual((await config()).components?.[0]?.attributes, {
      url: "http://127.0.0.1:9/weather",
      interval: "5s",
    });
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("The change is undone.").waitFor();
    assert.equal((await config()).components, undefined);
  },
);

consoleTest(
  import.meta.url,
  "the editor completes, marks what is wrong at its place, and shares one draft with the form",
  async (rig) => {
    const { made, app } = rig;
    await app.updateRobotPart({
      id: made.part_id,
      robotConfigJson: JSON.stringify({ components: [sensor("weather", { url: "http://a" })] }),
    });
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure?view=json`);
    const { page } = opened;
    const editor = page.getByLabel("Configuration as JSON");
    await editor.waitFor();
    await editor.getByText('"weather"').waitFor();
    await opened.inspect("configure-json");
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(
      JSON.stringify({ components: [sensor("weather", { url: 7 })] }, null, 2),
    );
    await page.locator(".cm-lintRange").first().waitFor();
    await page.keyboard.press("ControlOrMeta+f");
    await page.locator(".cm-search").waitFor();
    await opened.inspect("configure-json-search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText("{\n  \n}");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("End");
    await page.keyboard.type('"maint');
    await page.locator(".cm-tooltip-autocomplete li").getByText("maintenance").click();
    await editor.getByText('"maintenance"').waitFor();
    await page.getByText("The text is no JSON").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(JSON.stringify({ components: [sensor("rain")], debug: true }));
    await page.getByRole("button", { name: "Resources", exact: true }).click();
    await page.getByText("rain").first().waitFor();
    await page.getByText("3 unsaved changes").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByText("weather").first().waitFor();
    await page.getByText("Saved. No changes.").waitFor();

    // In a wide window the text stands next to the forms, and each follows the other.
    await page.setViewportSize({ width: 1400, height: 900 });
    await editor.getByText('"http://a"').waitFor();
    await page.locator("summary").getByText("weather").click();
    await page.getByLabel("url").fill("http://b");
    await editor.getByText('"http://b"').waitFor();
    await opened.assertFits();
    assert.deepEqual(await opened.axe(), []);
    await opened.picture("configure-beside");
    await editor.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(JSON.stringify({ components: [sensor("snow")] }));
    await page.locator("summary").getByText("snow").first().waitFor();
    await page.setViewportSize({ width: 1399, height: 900 });
    await editor.waitFor({ state: "detached" });
  },
);

consoleTest(
  import.meta.url,
  "a module of the registry brings the form of its model, and what the editor knows",
  async (rig) => {
    const { made, app } = rig;
    const [api, model] = ["rdk:component:sensor", "acme:weather:station"];
    const { moduleId } = await app.createModule({ organizationId: made.org_id, name: "weather" });
    await app.updateModule({ moduleId, models: [{ api, model }], entrypoint: "run" });
    const hostile = HOSTILE.join(" ");
    const schema = {
      type: "object",
      required: ["port"],
      properties: {
        port: { type: "string", title: "Serial port", description: hostile },
        interval: { anyOf: [{ $ref: "#/$defs/seconds" }, { type: "null" }], default: 1 },
        units: { enum: ["metric", "imperial"] },
        place: { type: "object", title: hostile, properties: { height: { type: "number" } } },
      },
      additionalProperties: false,
      $defs: { seconds: { type: "number", minimum: 0.5, description: "Between two readings." } },
    };
    await rig.client(RegistryService).setModelSchemas({
      ...{ moduleId, schemas: [{ api, model, schemaJson: JSON.stringify(schema) }] },
    });
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure`);
    const { page } = opened;
    await page.getByRole("button", { name: "Add", exact: true }).first().click();
    await page.getByPlaceholder("Search models").fill("weather station");
    await page.getByRole("button", { name: `sensor ${model} module ${moduleId}` }).click();
    await page.keyboard.press("Enter");
    await page.getByLabel("Serial port").fill("/dev/ttyUSB0");
    await page.getByLabel("units").selectOption("imperial");
    await page.getByText("Between two readings. 0.5 – … Default: 1.").waitFor();
    await opened.inspect("configure-module-form");
    await page.getByLabel("interval").fill("0.1");
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    const editor = page.getByLabel("Configuration as JSON");
    await editor.getByText('"imperial"').waitFor();
    await page.locator(".cm-lintRange").first().waitFor();
    assert.equal(await page.locator(".cm-lintRange").first().textContent(), '"interval": 0.1');
    // A pattern that no browser finishes with: the check is aborted, not the page.
    const endless = { type: "object", properties: { port: { pattern: "^([a-zA-Z/]+)+!$" } } };
    await rig.client(RegistryService).setModelSchemas({
      ...{ moduleId, schemas: [{ api, model, schemaJson: JSON.stringify(endless) }] },
    });
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved. No changes.").waitFor();
    const { part } = await app.getRobotPart({ id: made.part_id });
    const { components, modules } = part?.robotConfig ?? {};
    assert.deepEqual([components, modules], [
      [{
        ...{ name: "sensor-1", api, model },
        attributes: { port: "/dev/ttyUSB0", units: "imperial", interval: 0.1 },
      }],
      [{
        name: moduleId.replaceAll(/[^a-zA-Z0-9]+/g, "-"),
        ...{ type: "registry", module_id: moduleId, version: "latest" },
      }],
    ]);
    const slow = JSON.stringify({
      components: [{
        ...{ name: "sensor-1", api, model, attributes: { port: `/${"dev/ttyUSB".repeat(9)}` } },
      }],
      modules,
    });
    await app.updateRobotPart({ id: made.part_id, robotConfigJson: slow });
    await page.reload();
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await page.locator(".cm-lint-marker-warning").first().hover();
    await page.getByText("the schema of this model takes too long to check").first().waitFor();
    assert.equal(await page.evaluate("window.hacked"), undefined);
  },
);

consoleTest(
  import.meta.url,
  "the form of a module's model is that of the version that the machine runs",
  async (rig) => {
    const { made, app, dataDir } = rig;
    const [api, model] = ["rdk:component:sensor", "acme:weather:station"];
    for (const [version, title] of [["1.0.0", "Serial port"], ["2.0.0", "Bus address"]] as const) {
      const schema = { type: "object", properties: { place: { type: "string", title } } };
      const file = await writeArchive(dataDir, "weather.tar.gz", {
        "run": "#!/bin/sh\n",
        "meta.json": JSON.stringify({
          ...{ module_id: `${made.org_id}:weather`, entrypoint: "run" },
          models: [{ api, model, schema }],
        }),
      });
      await runCloudCommand(
        ["module", "upload", "--data", dataDir, "--version", version, file],
        {},
      );
    }
    const config = (version: string) => ({
      components: [{ name: "outside", api, model, attributes: {} }],
      modules: [{
        name: "weather",
        type: "registry",
        module_id: `${made.org_id}:weather`,
        version,
      }],
    });
    await app.updateRobotPart({ id: made.part_id, robotConfig: config("^1") });
    const { page } = await rig.signedIn(`/machines/${made.machine_id}/configure`);
    await page.getByText("outside").click();
    await page.getByLabel("Serial port").waitFor();
    await app.updateRobotPart({ id: made.part_id, robotConfig: config("latest") });
    await page.getByLabel("Bus address").waitFor();
  },
);

consoleTest(
  import.meta.url,
  "somebody else's save is shown and merged, never lost, and an old revision is restored",
  async (rig) => {
    const { made, app } = rig;
    const save = (config: object) =>
      app.updateRobotPart({ id: made.part_id, robotConfigJson: JSON.stringify(config, null, 2) });
    await save({ components: [sensor("weather", { url: "http://a" })] });
    const opened = await rig.signedIn(
      `/machines/${made.machine_id}/configure?open=components.0`,
    );
    const { page } = opened;
    await page.getByLabel("url").fill("http://mine");
    await save({ components: [sensor("weather", { url: "http://a" }), sensor("theirs")] });
    await page.getByRole("button", { name: "Review and save" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Somebody saved meanwhile").waitFor();
    opened.complaints.splice(0);
    await page.getByText("components.theirs").waitFor();
    await opened.inspect("configure-conflict");
    await page.getByRole("button", { name: "Put mine on top" }).click();
    await page.getByRole("heading", { name: "What will change" }).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved. No changes.").waitFor();
    const { part } = await app.getRobotPart({ id: made.part_id });
    const names = JSON.parse(part?.robotConfigJson ?? "{}") as {
      components: { name: string; attributes: { url?: string } }[];
    };
    assert.deepEqual(names.components.map(({ name, attributes }) => [name, attributes.url]), [
      ["weather", "http://mine"],
      ["theirs", undefined],
    ]);

    await page.getByRole("button", { name: "History" }).click();
    // By the page, those before it by the API.
    await page.locator("tr:first-child td.by", { hasText: "console" }).waitFor();
    await page.locator("tr:nth-child(2) td.by", { hasText: "api" }).waitFor();
    await page.getByRole("button", { name: /^2\b.*Compare/ }).click();
    await page.getByText("http://mine").waitFor();
    await opened.inspect("configure-history");
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await page.getByText("Revision 2 is restored.").waitFor();
    const restored = (await app.getRobotPart({ id: made.part_id })).part?.robotConfigJson ?? "";
    assert.doesNotMatch(restored, /mine|theirs/);
    await page.getByRole("button", { name: "Fragments" }).click();
    await page.getByText("components[0].attributes.url").waitFor();
    await opened.inspect("configure-sources");
  },
);

consoleTest(
  import.meta.url,
  "the graph shows what resources need, and leads to them by the keyboard",
  async (rig) => {
    const { made, app } = rig;
    const arm = (name: string, more: object) => ({
      ...{ name, api: "rdk:component:arm", model: "rdk:builtin:fake" },
      ...more,
    });
    const config = {
      components: [
        arm("left", { depends_on: ["rail"] }),
        arm("rail", {}),
        arm("hand", { attributes: { on: ["left"] } }),
      ],
    };
    await app.updateRobotPart({ id: made.part_id, robotConfigJson: JSON.stringify(config) });
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure?view=graph`);
    const { page } = opened;
    const graph = page.getByRole("group", { name: "Graph" });
    await graph.getByRole("link", { name: "left, arm, needs rail" }).waitFor();
    await page.getByText("As a table").click();
    await page.getByRole("row", { name: "rail – left" }).waitFor();
    await page.getByRole("row", { name: "left rail" }).waitFor();
    await opened.inspect("configure-graph");
    await graph.getByRole("link", { name: "hand, arm, needs left" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Name of the resource").or(page.getByText("hand").first()).waitFor();
    await page.waitForURL(/configure\?open=components\.2$/);
  },
);

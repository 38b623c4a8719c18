/** The registry in a browser: a module made, uploaded, described, deprecated and deleted. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { writeArchive } from "../../shared/commands/upload/archive_testing.ts";
import { RegistryService } from "../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const [API, MODEL] = ["rdk:component:sensor", "acme:weather:station"];
const SCHEMA = '{"type":"object","properties":{"height":{"type":"number"}}}';

/** The bytes of a module's archive. */
async function archive(files: Readonly<Record<string, string>>): Promise<Uint8Array> {
  const folder = await Deno.makeTempDir({ prefix: "machine-console-module-" });
  try {
    return await Deno.readFile(await writeArchive(folder, "module.tar.gz", files));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Text that stays large when it is compressed. */
const noise = (bytes: number) => randomBytes(bytes / 2).toString("hex");

consoleTest(
  import.meta.url,
  "a module is made, uploaded, described, deprecated, used and deleted",
  async (rig) => {
    const { app, made } = rig;
    const itemId = `${made.org_id}:weather`;
    const find = async () => (await app.getModule({ moduleId: itemId })).module;
    const opened = await rig.signedIn("/registry");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    await page.getByText("The registry is empty").waitFor();
    await page.getByRole("button", { name: "New module" }).click();
    await dialog.getByLabel("Name").fill("weather");
    await press("Create");
    await page.getByRole("heading", { name: "weather" }).waitFor();
    await page.getByText("used by no machine").waitFor();

    const upload = async (version: string, platform: string, contents: Uint8Array) => {
      await page.getByRole("button", { name: "Upload a version" }).click();
      await dialog.getByLabel("Archive").setInputFiles({
        name: "module.tar.gz",
        mimeType: "application/gzip",
        buffer: Buffer.from(contents),
      });
      await dialog.getByLabel("Version", { exact: true }).fill(version);
      await dialog.getByLabel("Platform").selectOption(platform);
    };
    await upload("1.0.0", "linux/amd64", await archive({ "run.sh": noise(900_000) }));
    await press("Upload a version");
    await dialog.getByText("has no meta.json with an entrypoint").waitFor();
    await press("Cancel");
    const other = JSON.stringify({ module_id: "acme:other", entrypoint: "run.sh" });
    await upload("1.0.0", "linux/amd64", await archive({ "meta.json": other, "run.sh": "x" }));
    await press("Upload a version");
    await dialog.getByText("is an archive of acme:other").waitFor();
    await press("Cancel");
    const meta = JSON.stringify({
      module_id: "acme:weather",
      entrypoint: "run.sh",
      models: [{ api: API, model: MODEL, schema: "schemas/station.json" }],
    });
    const files = { "meta.json": meta, "schemas/station.json": SCHEMA };
    const whole = await archive({ ...files, "run.sh": noise(900_000) });
    await upload("1.0.0", "linux/amd64", whole);
    await opened.inspect("registry-upload");
    await press("Upload a version");
    const versions = page.getByRole("list", { name: "Versions" });
    await versions.getByText("linux/amd64").waitFor();
    assert.equal((await find())?.entrypoint, "run.sh");
    const { models } = await rig.client(RegistryService).listModels({ moduleIds: [itemId] });
    assert.deepEqual(models.map(({ api, model, schemaJson }) => [api, model, schemaJson]), [
      [API, MODEL, SCHEMA],
    ]);
    await upload("1.10.0", "linux/arm64", await archive({ "run.sh": "two" }));
    await press("Upload a version");
    await versions.getByText("1.10.0", { exact: true }).waitFor();
    await upload("1.0.0", "linux/amd64", whole);
    await dialog.getByText("has a file for linux/amd64 already").waitFor();
    // What is no archive is refused with the reason.
    await press("Cancel");
    await upload("2.0.0", "any", new TextEncoder().encode("no archive"));
    await press("Upload a version");
    await dialog.getByText("is no whole archive with files in it").waitFor();
    await press("Cancel");

    // Markup is text, wherever it stands.
    await app.updateModule({
      moduleId: itemId,
      description: HOSTILE.join(" ").slice(0, 1_000),
      markdownDescription: `# Weather\n${HOSTILE.join("\n")}`,
      models: [{ api: API, model: MODEL, description: `Tells rain. ${HOSTILE[0]}` }],
    });
    const config = { modules: [{ module_id: itemId, name: "weather", version: "1.0.0" }] };
    await app.updateRobotPart({ id: made.part_id, robotConfig: config });
    await page.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Address to read more").fill("https://example.com/weather");
    await press("Save");
    await page.getByRole("link", { name: "https://example.com/weather" }).waitFor();
    await versions.getByRole("button", { name: "Deprecate weather 1.0.0" }).click();
    await dialog.getByLabel("What to use in its place").fill(HOSTILE[0] ?? "");
    await press("Deprecate");
    await versions.getByText(HOSTILE[0] ?? "", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("acme:weather:station").waitFor();
    await page.getByText(`Tells rain. ${HOSTILE[0]}`, { exact: true }).waitFor();
    await page.getByText("used by 1 machine of 1 organisation").waitFor();
    await page.getByRole("row", { name: "rover rover-main 1.0.0" }).waitFor();
    assert.equal(
      await page.getByRole("link", { name: "rover" }).getAttribute("href"),
      `/machines/${made.machine_id}`,
    );
    await opened.inspect("registry-item");
    await versions.getByRole("button", { name: "weather 1.0.0 is not deprecated" }).click();
    await versions.getByRole("button", { name: "Deprecate weather 1.0.0" }).waitFor();
    assert.equal((await find())?.url, "https://example.com/weather");

    await page.getByRole("link", { name: "All items" }).click();
    const items = page.getByRole("list", { name: "Registry" });
    await items.getByText("1.10.0").waitFor();
    await opened.inspect("registry");
    await page.getByLabel("Search the registry").fill("nothing like it");
    await page.getByText("Nothing fits this search.").waitFor();
    await page.getByLabel("Search the registry").fill("weath");
    await page.waitForURL(/\?q=weath$/);
    await items.getByRole("link", { name: itemId }).click();

    await versions.getByRole("button", { name: "Delete weather 1.10.0" }).click();
    await dialog.getByLabel("Type “1.10.0”").fill("1.10.0");
    await press("Delete");
    await versions.getByText("1.10.0", { exact: true }).waitFor({ state: "detached" });
    const removeAll = async () => {
      await page.getByRole("button", { name: "Delete weather", exact: true }).click();
      await dialog.getByLabel("Type “weather”").fill("weather");
      await press("Delete");
    };
    await removeAll();
    await dialog.getByText("weather is in use by").waitFor();
    opened.complaints.splice(0);
    await press("Cancel");
    await app.updateRobotPart({ id: made.part_id, robotConfig: {} });

    const { id, key } = await rig.viewer();
    const viewer = await rig.signedInBy(id, key, `/registry/${encodeURIComponent(itemId)}`);
    await viewer.page.getByText("acme:weather:station").waitFor();
    assert.equal(await viewer.page.getByRole("button", { name: "Delete" }).count(), 0);
    assert.equal(await viewer.page.getByRole("button", { name: "Upload" }).count(), 0);

    await removeAll();
    await page.getByText("The registry is empty").waitFor();
    assert.equal(await page.evaluate("window.hacked ?? 'no'"), "no");
  },
);

/** What the cloud refuses is said in the language of the console. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { consoleTest, PHONE } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "a refusal of the cloud stands in German on a German page, with its values",
  async (rig) => {
    const { app, made: { org_id: organizationId } } = rig;
    await app.createModule({ organizationId, name: "station" });
    const { fragment } = await app.createFragment({ organizationId, name: "weather", config: {} });
    const opened = await rig.signedIn("/new-machine", { locale: "de-DE", viewport: PHONE });
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const button = (name: string) =>
      page.getByRole("button", { name, exact: true }).first().click();
    const send = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    const refused = async (text: string | RegExp) => {
      await page.locator(".problem").getByText(text).first().waitFor();
      assert.equal(await page.locator(".problem [lang=en]").count(), 0, String(text));
      await opened.assertFits();
      opened.complaints.splice(0);
    };

    await page.getByLabel("Name", { exact: true }).fill("rover");
    await page.keyboard.press("Enter");
    await refused("„rover“ heißt hier schon etwas anderes. Wählen Sie einen anderen Namen.");
    await opened.inspect("reason-german");
    await page.setViewportSize(PHONE);

    await opened.go("/organization?tab=keys");
    await button("Neuer Schlüssel");
    await dialog.getByLabel("Name").fill("n".repeat(101));
    await send("Anlegen");
    await refused("Ein Name hat 1 bis 100 Zeichen und keine Steuerzeichen.");

    await opened.go(`/organization?tab=fragments&fragment=${fragment?.id}`);
    await page.getByRole("table").getByRole("button", { name: /^1\b/ }).click();
    await button("Taggen");
    await dialog.getByLabel("Tag", { exact: true }).fill("1 x");
    await send("Taggen");
    await refused(/^„1 x“ kann kein Tag sein/);

    await page.keyboard.press("Escape");
    await page.locator(".cm-content").click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText('{"components": [{"name": "s", "attributes": 5}]}');
    await button("Prüfen und speichern");
    await send("Speichern");
    await refused(/nicht gespeichert: components\[0\]\.attributes muss ein Objekt sein/);

    await opened.go("/organization?tab=use");
    await button("Grenzen ändern");
    await dialog.getByLabel("Tage aufbewahrt").fill("99999");
    await send("Speichern");
    await refused("Geben Sie eine Zahl von 1 bis 36500 an.");

    await opened.go("/registry");
    await page.getByRole("link", { name: /station/ }).first().click();
    await button("Version hochladen");
    await dialog.getByText("Datei wählen").waitFor();
    await dialog.getByLabel("Archiv").setInputFiles({
      ...{ name: "x.tar.gz", mimeType: "application/gzip" },
      buffer: Buffer.from("no archive at all"),
    });
    await dialog.getByLabel("Version", { exact: true }).fill("1.0.0");
    await send("Version hochladen");
    await refused(/^x.tar.gz ist kein vollständiges Archiv/);

    await opened.go("/data?tab=query");
    await page.getByRole("textbox").first().fill("SELECT nothing FROM nowhere");
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.getByText(/^Die Abfrage ist falsch: /).waitFor();
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a field that is wrong says so in the language of the console, whatever that of the browser is",
  async (rig) => {
    const opened = await rig.page({ locale: "de-DE" });
    await opened.keepKey(
      await rig.tokenFor("api-key", rig.made.api_key_id, rig.made.api_key),
      rig.made.api_key_id,
    );
    await opened.go("/organization");
    const { page } = opened;
    await page.getByRole("button", { name: "Einladen", exact: true }).click();
    const field = page.getByLabel("E-Mail-Adresse");
    const send = () =>
      page.getByRole("dialog").getByRole("button", { name: "Einladen", exact: true }).click();
    const said = () => page.evaluate("document.activeElement.validationMessage");
    await send();
    assert.equal(await said(), "Füllen Sie dieses Feld aus.");
    await field.fill("nobody");
    await send();
    assert.equal(await said(), "Schreiben Sie eine E-Mail-Adresse, etwa ann@example.com.");
    await field.fill("ann@example.com");
    await send();
    await page.getByText("ann@example.com ist eingeladen.").waitFor();
  },
);

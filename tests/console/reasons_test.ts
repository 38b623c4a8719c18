/** What the cloud refuses is said in the language of the console. */
import { consoleTest } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "a refusal of the cloud stands in German on a German page, with its values",
  async (rig) => {
    const opened = await rig.signedIn("/new-machine", { locale: "de-DE" });
    const { page } = opened;
    await page.getByLabel("Name", { exact: true }).fill("rover");
    await page.keyboard.press("Enter");
    await page.getByText("„rover“ heißt hier schon etwas anderes.").waitFor();
    await opened.inspect("reason-german");
    opened.complaints.splice(0);

    await opened.go("/data?tab=query");
    await page.getByRole("textbox").first().fill("SELECT nothing FROM nowhere");
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.getByText(/^Die Abfrage ist falsch: /).waitFor();
    opened.complaints.splice(0);
  },
);

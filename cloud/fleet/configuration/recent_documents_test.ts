import assert from "node:assert/strict";
import { checkedConfig, configWarnings } from "./config_check.ts";
import { RecentDocuments } from "./recent_documents.ts";

Deno.test("RecentDocuments reads a text once, for the check of a save and for who fetches it", async () => {
  const documents = new RecentDocuments();
  const config = { components: [{ name: "a", api: "rdk:component:sensor", model: "m", modle: 1 }] };
  const document = await checkedConfig(config, documents);
  const reading = documents.reading(document!.text);
  assert.equal(
    reading.json,
    document!.value,
    "the value that was checked, not another of its text",
  );
  assert.equal(documents.reading(JSON.stringify(config)), reading);
  assert.match(configWarnings(reading).join(), /modle/);
});

Deno.test("RecentDocuments keeps the newest 50, and 2 MiB of text", () => {
  const documents = new RecentDocuments();
  const text = (n: number) => JSON.stringify({ revision: String(n) });
  const first = documents.reading(text(0));
  for (let n = 1; n < 50; n++) documents.reading(text(n));
  assert.equal(documents.reading(text(0)), first);
  documents.reading(text(50));
  assert.equal(documents.reading(text(0)), first, "it was used of late");
  const second = documents.reading(text(2));
  const long = (letter: string) => JSON.stringify({ revision: letter.repeat(1.5 * 1024 * 1024) });
  documents.reading(long("a"));
  documents.reading(long("b"));
  assert.notEqual(documents.reading(text(2)), second);
});

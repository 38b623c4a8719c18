import assert from "node:assert/strict";
import { escapeHtml, networkName, visibleText } from "./html.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("escapeHtml() leaves nothing that HTML reads", () => {
  assert.equal(escapeHtml(`<a b="c" d='e'>&`), "&#60;a b=&#34;c&#34; d=&#39;e&#39;&#62;&#38;");
});

Deno.test("visibleText() replaces what cannot be seen, and keeps letters of every script", () => {
  assert.equal(visibleText("a\u202eb\u0000c\u200bd\u2066e"), "a\ufffdb\ufffdc\ufffdd\ufffde");
  for (const text of ["Käfig", "咖啡店", "مقهى", "👩‍👧"]) assert.equal(visibleText(text), text);
});

Deno.test("networkName() shows the bytes of what is no plain text", () => {
  assert.equal(networkName(bytes("Café 2")), "Café 2");
  assert.equal(networkName(Uint8Array.of(0x63, 0xff)), "c\ufffd (63ff)");
  assert.equal(networkName(bytes(" x")), " x (2078)");
  assert.equal(networkName(bytes("\ufeffx")), "\ufffdx (efbbbf78)");
  assert.equal(networkName(bytes("\u202ex")), "\ufffdx (e280ae78)");
});

import assert from "node:assert/strict";
import { tileOrigin } from "./map_tiles.ts";

Deno.test("tileOrigin() is the origin alone, and nothing for what is no template of tiles", () => {
  assert.equal(
    tileOrigin("https://tiles.example/a/{z}/{x}/{y}.png?key=k"),
    "https://tiles.example",
  );
  assert.equal(tileOrigin("http://10.0.0.2:8081/{z}/{x}/{y}"), "http://10.0.0.2:8081");
  for (
    const wrong of [
      "https://tiles.example/{z}/{x}.png",
      "https://{x}.example/{z}/{x}/{y}.png",
      "https://user:key@tiles.example/{z}/{x}/{y}.png",
      "https://a; script-src *.example/{z}/{x}/{y}",
      "data:image/png,{z}{x}{y}",
      "/{z}/{x}/{y}.png",
    ]
  ) assert.equal(tileOrigin(wrong), undefined, wrong);
});

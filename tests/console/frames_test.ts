/** Frames, shapes and obstacles in space, of a real machine-server. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { startMachine } from "./machine_rig.ts";

/** A tetrahedron; files of meshes have metres. */
const MESH = `solid a
${
  ["0 0 0 .2 0 0 0 .2 0", "0 0 0 0 .2 0 0 0 .2", "0 0 0 0 0 .2 .2 0 0", ".2 0 0 0 0 .2 0 .2 0"]
    .map((triangle) => {
      const numbers = triangle.split(" ");
      const points = [0, 3, 6].map((at) => `vertex ${numbers.slice(at, at + 3).join(" ")}`);
      return `facet normal 0 0 0\nouter loop\n${points.join("\n")}\nendloop\nendfacet`;
    }).join("\n")
}
endsolid a`;

/** As other programs write it: numbers of 64 bits. */
const DOUBLES = `ply
format ascii 1.0
element vertex 3
property double x
property double y
property double z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
.2 0 0
0 .2 0
3 0 1 2
`;
/** A loader takes many seconds to find that there is no triangle in it. */
const ENDLESS = `solid a ${"facet".repeat(80_000)} endsolid`;

function framed(name: string, parent: string, x: number, z: number, geometry?: object) {
  return {
    ...{ name, api: "rdk:component:generic", model: "rdk:builtin:fake" },
    frame: { parent, translation: { x, y: 0, z }, ...(geometry && { geometry }) },
  };
}

/** How many pixels of a canvas have a colour. */
function painted(page: Page, canvas: "first" | "last"): Promise<number> {
  return page.evaluate(`(() => {
    const all = document.querySelectorAll("[role=application] canvas");
    const from = all[${canvas === "first" ? "0" : "all.length - 1"}];
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [from.width, from.height];
    const pen = copy.getContext("2d");
    pen.drawImage(from, 0, 0);
    const { data } = pen.getImageData(0, 0, copy.width, copy.height);
    let count = 0;
    for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count++;
    return count;
  })()`);
}

Deno.test({
  name: "frames are drawn where they are, turned by keys and pointer, and listed",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig, {
      components: [framed("table", "world", 0, 700), framed("camera-mount", "table", 400, 300)],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await page.getByText("Frames in space").click();
    await page.getByRole("row", { name: "camera-mount table 400 · 0 · 1000" }).waitFor();
    await page.getByRole("row", { name: "table world 0 · 0 · 700" }).waitFor();
    const space = page.getByRole("application", { name: /^2 frames in space/ });
    const pixels = () =>
      page.evaluate("document.querySelector('[role=application] canvas').toDataURL()") as Promise<
        string
      >;
    const before = await pixels();
    assert.ok(before.length > 3_000, "something is drawn");
    await space.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    const turned = await pixels();
    assert.notEqual(turned, before);
    await page.getByRole("button", { name: "Reset view" }).click();
    assert.equal(await pixels(), before);
    await space.hover();
    await page.mouse.down();
    await page.mouse.move(300, 300, { steps: 3 });
    await page.mouse.up();
    assert.notEqual(await pixels(), before);
    const loaded = await page.evaluate(
      "performance.getEntriesByType('resource').some(({ name }) => name.includes('/solids'))",
    );
    assert.equal(loaded, false, "without a shape its library is not loaded");
    await opened.inspect("machine-frames");
  },
});

Deno.test({
  name:
    "shapes of frames and obstacles of a store are drawn and listed, damaged and endless files are counted",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const mesh = { type: "mesh", mesh_content_type: "stl", mesh_data: btoa(MESH) };
    await using _machine = await startMachine(rig, {
      components: [
        framed("table", "world", 0, 350, { type: "box", x: 900, y: 600, z: 700 }),
        framed("ball", "table", 0, 450, { type: "sphere", r: 100 }),
        framed("pole", "world", -600, 400, { type: "capsule", r: 50, l: 800 }),
        framed("wedge", "world", 700, 0, mesh),
        framed("broken", "world", 800, 0, { ...mesh, mesh_data: btoa("solid nothing") }),
        framed("endless", "world", 800, 0, { ...mesh, mesh_data: btoa(ENDLESS) }),
        framed("sheet", "world", 0, 0, {
          ...{ type: "mesh", mesh_content_type: "ply", mesh_data: btoa(DOUBLES) },
        }),
      ],
      services: [
        { name: "room", api: "rdk:service:world_state_store", model: "rdk:builtin:fake" },
      ],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await page.getByText("Frames in space").click();
    await page.getByRole("row", { name: "table world 0 · 0 · 350 box 900 × 600 × 700" }).waitFor();
    await page.getByRole("row", { name: "ball table 0 · 0 · 800 sphere, radius 100" }).waitFor();
    await page.getByRole("row", { name: /^pole .* capsule, radius 50, length 800$/ }).waitFor();
    await page.getByRole("row", { name: /^wedge .* mesh$/ }).waitFor();
    await page.getByRole("row", { name: "box obstacle -1000 · 0 · 0 box 100 × 100 × 100" })
      .waitFor();
    await page.getByRole("row", { name: /^sphere obstacle / }).waitFor();
    await page.getByRole("row", { name: /^sheet .* mesh$/ }).waitFor();
    await page.getByText("2 more are not shown.").waitFor();
    assert.ok(await painted(page, "first") > 2_000, "shapes are drawn");
    assert.ok(await painted(page, "last") > 500, "and lines above them");
    await opened.inspect("machine-space");
    // Images are taken of what the graphics driver drew, which it mentions.
    const own = opened.complaints.filter((line) => !/GPU stall due to ReadPixels/.test(line));
    opened.complaints.splice(0, Infinity, ...own);
  },
});

Deno.test({
  name: "without WebGL shapes are in the table, and hostile names are text",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const label = HOSTILE[0];
    await using _machine = await startMachine(rig, {
      components: [framed("table", "world", 0, 350, { type: "sphere", r: 9, label })],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await page.addInitScript(`
      const { getContext } = HTMLCanvasElement.prototype;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith("webgl") ? null : getContext.call(this, kind, ...rest);
      };
    `);
    await page.reload();
    await page.getByText("Frames in space").click();
    await page.getByRole("row", { name: "table world 0 · 0 · 350 sphere, radius 9" }).waitFor();
    await page.getByText("This browser draws no shapes").waitFor();
    // three.js says why, too.
    const own = opened.complaints.filter((line) => !/WebGL/.test(line));
    opened.complaints.splice(0, Infinity, ...own);
    assert.deepEqual(own, []);
    await opened.inspect("machine-space-flat");
  },
});

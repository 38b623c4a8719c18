import assert from "node:assert/strict";
import { boxAfterKey, boxBetween, isBox } from "./box.ts";

const BOX = { left: 0.25, top: 0.25, right: 0.75, bottom: 0.75 };

Deno.test("boxBetween() takes points in any order and stays in the picture", () => {
  assert.deepEqual(boxBetween({ x: 1.4, y: 0.5 }, { x: 0.25, y: -3 }), {
    ...{ left: 0.25, top: 0, right: 1, bottom: 0.5 },
  });
  assert.equal(isBox(boxBetween({ x: 0.5, y: 0.5 }, { x: 0.5, y: 0.9 })), false);
  assert.equal(isBox(BOX), true);
});

Deno.test("boxAfterKey() moves and resizes by arrows, and ends at the edges", () => {
  const rounded = (box: typeof BOX | undefined) =>
    box && Object.values(box).map((each) => Number(each.toFixed(3)));
  assert.deepEqual(rounded(boxAfterKey(BOX, "ArrowLeft", false)), [0.24, 0.25, 0.74, 0.75]);
  assert.deepEqual(rounded(boxAfterKey(BOX, "ArrowDown", true)), [0.25, 0.25, 0.75, 0.76]);
  let box = BOX;
  for (let at = 0; at < 200; at++) box = boxAfterKey(box, "ArrowRight", false) ?? box;
  assert.deepEqual(rounded(box), [0.5, 0.25, 1, 0.75]);
  for (let at = 0; at < 200; at++) box = boxAfterKey(box, "ArrowUp", true) ?? box;
  assert.deepEqual(rounded(box), [0.5, 0.25, 1, 0.26]);
  assert.equal(boxAfterKey(BOX, "Enter", false), undefined);
});

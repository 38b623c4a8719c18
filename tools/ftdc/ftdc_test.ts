import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FtdcEncoder } from "../../server/diagnostics/ftdc/encoder.ts";
import { readFtdc, toSeries } from "../../server/diagnostics/ftdc/read.ts";
import { csv, short, sparkline, svg, table } from "./render.ts";

/**
 * A file as the reference server writes it: a schema of nine names (two bytes of bits), a datum
 * that says only what differs from zero, one that says only what differs from that.
 */
const FOREIGN = Uint8Array.from([
  ...[0x01, ...new TextEncoder().encode('["a.b","c","d","e","f","g","h","i","j"]'), 0x0a],
  // Bits: datum 0, then a.b and j. 1_700_000_000_123_456_789 ns; 1.5 and -2.
  ...[0b0000_0010, 0b0000_0010],
  ...[0x17, 0x97, 0x9c, 0xfe, 0x3d, 0x85, 0xdf, 0x15],
  ...[0x3f, 0xc0, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00],
  // Only c: 1, one second later.
  ...[0b0000_0100, 0b0000_0000],
  ...[0x17, 0x97, 0x9c, 0xfe, 0x79, 0x20, 0xa9, 0x15],
  ...[0x3f, 0x80, 0x00, 0x00],
]);

Deno.test("readFtdc() reads differences against zero, then against the datum before", () => {
  const { data, problem } = readFtdc(FOREIGN);
  assert.equal(problem, undefined);
  assert.deepEqual(data.map(({ time }) => time), [1_700_000_000_123, 1_700_000_001_123]);
  assert.deepEqual([...data[0]!.values], [1.5, 0, 0, 0, 0, 0, 0, 0, -2]);
  assert.deepEqual([...data[1]!.values], [1.5, 1, 0, 0, 0, 0, 0, 0, -2]);
});

Deno.test("readFtdc() gives what was written, over a change of names too", () => {
  const encoder = new FtdcEncoder();
  const samples = [
    { names: ["a", "b"], values: [1, 2] },
    { names: ["a", "b"], values: [1, 3] },
    { names: ["a", "b", "c"], values: [0, 3, NaN] },
    { names: ["a", "b", "c"], values: [0, 3, 0.25] },
  ];
  const bytes = samples.map((sample, i) => encoder.encode(1_000 * i, sample));
  const { data, problem } = readFtdc(Uint8Array.from(bytes.flatMap((part) => [...part])));
  assert.equal(problem, undefined);
  assert.deepEqual(data.map(({ values }) => [...values]), [[1, 2], [1, 3], [0, 3, 0], [
    0,
    3,
    0.25,
  ]]);
  assert.deepEqual(data.map(({ time }) => time), [0, 1_000, 2_000, 3_000]);
  const series = toSeries(data);
  assert.deepEqual(series.map(({ name, values }) => [name, values]), [
    ["a", [1, 1, 0, 0]],
    ["b", [2, 3, 3, 3]],
    ["c", [0, 0.25]],
  ]);
});

Deno.test("readFtdc() keeps what is before a cut and says where it is", () => {
  for (let length = FOREIGN.length - 1; length > FOREIGN.length - 14; length--) {
    const { data, problem } = readFtdc(FOREIGN.subarray(0, length));
    assert.equal(data.length, 1);
    assert.match(problem ?? "", /the last datum is cut off at byte \d+ of \d+/);
  }
});

Deno.test("readFtdc() says what is wrong when the file is of another kind", () => {
  const problemOf = (text: string) => readFtdc(new TextEncoder().encode(text)).problem ?? "";
  assert.match(problemOf("PNG and so on"), /not a capture file/);
  assert.match(problemOf("\x01[1,2]\n"), /not a list of names/);
  assert.match(problemOf("\x01[]\nq"), /neither schema nor datum/);
  assert.match(problemOf('\x01["a"'), /a schema is cut off/);
});

const RISING = {
  name: "x,<y>",
  times: [0, 1_000, 2_000, 3_000],
  values: [0, 1, 2, 3],
};

Deno.test("sparkline() draws low to high, and gaps as spaces", () => {
  assert.equal(sparkline(RISING, 4), "\u2581\u2583\u2586\u2588");
  assert.equal(sparkline({ name: "", times: [0, 10_000], values: [1, 1] }, 3), "\u2581 \u2581");
});

Deno.test("table(), csv() and svg() show every series", () => {
  assert.match(
    table([RISING]),
    /^name +samples +min +mean +max +last +course\nx,<y> +4 +0 +1\.5 +3 +3 /,
  );
  assert.equal(csv([RISING]).split("\n")[0], 'time,"x,<y>"');
  assert.equal(csv([RISING]).split("\n")[2], "1970-01-01T00:00:01.000Z,1");
  const picture = svg([RISING]);
  assert.match(
    picture,
    /^<svg [^]*x,&lt;y&gt;[^]*points="340\.0,[\d.]+ [^"]*1240\.0,[\d.]+"[^]*<\/svg>\n$/,
  );
  assert.deepEqual([1e9, 0.00001, 1 / 3, 12].map(short), ["1.00e+9", "1.00e-5", "0.33333", "12"]);
});

Deno.test("ftdc shows a folder as one course, and says what is wrong", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-ftdc-tool-" });
  const run = async (...args: string[]) => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const output = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--quiet", main, ...args],
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
  };
  try {
    for (const [i, name] of ["1.ftdc", "2.ftdc"].entries()) {
      const bytes = new FtdcEncoder().encode(i * 1_000, { names: ["a.b", "c"], values: [i, 7] });
      await Deno.writeFile(join(folder, name), bytes);
    }
    const picture = join(folder, "out.svg");
    const [shown, drawn, none, wrong] = await Promise.all([
      run("-metric", "a.,zz", folder),
      run(`-svg=${picture}`, folder),
      run("-metric=nothing", folder),
      run("-metrik", folder),
    ]);
    assert.match(shown.stdout, /^name.*\na\.b +2 +0 +0\.5 +1 +1 .*\n$/);
    assert.equal(drawn.code, 0);
    assert.match(await Deno.readTextFile(picture), /<svg/);
    assert.deepEqual([none.code, wrong.code], [1, 2]);
    assert.match(wrong.stderr, /unknown option -metrik \(did you mean -metric\?\)/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

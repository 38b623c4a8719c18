import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { GetHistoryResponseSchema } from "../../../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { coursesOf } from "./courses.ts";

const series = (name: string, values: number[]) => ({
  ...{ name, mean: values, least: values, most: values },
});

Deno.test("coursesOf() makes a plot of each number that has values, with what is full", () => {
  const history = create(GetHistoryResponseSchema, {
    stepSeconds: 10,
    series: [
      series("host.CPUPercent", [NaN, 20, 30]),
      series("host.MemoryTotalMB", [4_000, 4_000, NaN]),
      series("host.MemoryUsedMB", [1_000, NaN, NaN]),
      series("host.TxBytesPerSecond", [NaN, NaN, NaN]),
      series("proc.modules.a.b<c>.RssMB", [1, 2, 3]),
      series("proc.modules.a.b<c>.VssMB", [1, 2, 3]),
    ],
  });
  const courses = coursesOf(history, 60_000);
  assert.deepEqual(courses.map(({ key, most }) => [key, most]), [
    ["host.CPUPercent", 100],
    ["host.MemoryUsedMB", 4_000],
    ["proc.modules.a.b<c>.RssMB", undefined],
  ]);
  const [cpu, memory, module] = courses;
  assert.deepEqual(cpu?.lines.slice(0, 2), [[75, 85], [20, 30]]);
  assert.equal(memory?.format(1_000), "1.00 GB");
  assert.deepEqual(module?.title[1], { name: "a.b<c>" });
});

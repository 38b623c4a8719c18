import type { Document } from "bson";

/** Random numbers that are the same for the same seed. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 to `most`, as often each. */
  upTo(most: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % (most + 1);
  }

  of<T>(values: readonly T[]): T {
    return values[this.upTo(values.length - 1)] as T;
  }
}

/** A statement in SQL that is right; its order is that of its rows. */
export function randomStatement(dice: Dice, startUs: number): string {
  const where = () => `WHERE ${condition(dice, startUs)}`;
  const own = where();
  return dice.of([
    `SELECT * FROM readings ${own}`,
    `SELECT received_us, component_name, time_synced FROM readings AS r ${own} LIMIT 7`,
    `SELECT count(*) AS n, sum(data ->> '$.readings.temperature') AS total FROM readings ${own}`,
    `SELECT component_name, tags, min(received_us) AS first, count(*) AS n FROM readings ${own}
       GROUP BY 1, 2 HAVING n > 1 ORDER BY 1, 2`,
    `SELECT a.component_name AS x, count(*) AS n FROM readings a JOIN readings b USING (part_id)
       ${where().replaceAll(/(component|method|part)_\w+|received_us|time_received/g, "a.$&")}
       GROUP BY 1 ORDER BY 1`,
    `SELECT r.part_id, (SELECT count(*) FROM readings ${own} AND part_id = r.part_id) AS n
       FROM readings r ${where()} ORDER BY r.part_id, n LIMIT 20`,
    `WITH a AS (SELECT component_name, received_us FROM readings ${own})
       SELECT * FROM a UNION ALL SELECT part_id, received_us FROM readings ${where()} LIMIT 50`,
    `SELECT r.component_name, v.x FROM readings r LEFT JOIN (SELECT 'oven' AS x) v
       ON v.x = r.component_name ${own}`,
    `SELECT value AS tag, count(*) AS n FROM readings, json_each(tags) ${own} GROUP BY 1 ORDER BY 1`,
    `SELECT (${dice.of(["2 * count(*)", "count(*) * 2"])}) AS n FROM "readings" ${own}`,
  ]);
}

function condition(dice: Dice, startUs: number, depth = 0): string {
  const us = () => startUs + dice.upTo(3_600) * 1_000_000;
  const time = () =>
    new Date(us() / 1_000).toISOString().slice(0, dice.of([10, 19, 23, 24])) + dice.of(["", "Z"]);
  const operator = () => dice.of(["<", "<=", ">", ">=", "="]);
  const simple = () =>
    dice.of([
      `component_name = 'oven'`,
      `'oven' = component_name`,
      `component_name = 'OVEN' COLLATE NOCASE`,
      `component_name IN ('oven', 'climate-2', 'climate-4')`,
      `component_name NOT IN ('oven')`,
      `component_name LIKE 'cl%'`,
      `part_id >= 'part-2'`,
      `method_name = 'Readings'`,
      `received_us ${operator()} ${us()}`,
      `${us()} ${operator()} received_us`,
      `received_us BETWEEN ${us()} AND ${us()} + 1800 * 1000000`,
      `received_us BETWEEN ${us()} AND ${us()} + 900 * 1000000 = ${dice.upTo(1)}`,
      `received_us > ${us()} - 60 * 1e6`,
      `time_received ${operator()} '${time()}'`,
      `time_received BETWEEN '${time()}' AND '2026-01-02T04'`,
      `received_us < unixepoch('now') * 1000000`,
      "true",
    ]);
  if (depth > 2) return simple();
  const deeper = () => condition(dice, startUs, depth + 1);
  return dice.of([
    simple,
    () => `${simple()} AND ${deeper()}`,
    () => `(${deeper()}) AND ${simple()}`,
    () => `${simple()} AND ${simple()} OR ${deeper()}`,
    () => `(${deeper()} OR ${simple()})`,
    () => `NOT (${deeper()})`,
    () => `CASE WHEN ${simple()} THEN ${deeper()} ELSE 1 END`,
  ])();
}

/** A pipeline in MQL that is right. */
export function randomPipeline(dice: Dice, startUs: number): Document[] {
  const time = () => new Date(Math.floor(startUs / 1_000) + dice.upTo(3_600) * 1_000);
  const fields: [string, unknown][] = [
    ["component_name", dice.of(["oven", { $in: ["oven", "climate-2"] }, { $ne: "oven" }])],
    ["part_id", dice.of(["part-1", { $eq: "part-2" }, { $gte: "part-2" }])],
    ["tags", dice.of(["red", 'b"lue', { $in: ["red"] }, ["red"]])],
    ["time_received", { [dice.of(["$gt", "$gte", "$lt", "$lte"])]: time() }],
    ["time_received", { $gte: time(), $lt: new Date(startUs / 1_000 + 3_000_000) }],
    ["data.readings.temperature", { $gt: 10 }],
    ["$or", [{ component_name: "oven" }, { part_id: "part-1" }]],
  ];
  const match = Object.fromEntries(fields.filter(() => dice.upTo(2) === 0));
  const behind = dice.of<Document[]>([
    [],
    [{ $sort: { time_received: 1, component_name: 1 } }, { $limit: 9 }],
    [{ $group: { _id: "$component_name", n: { $sum: 1 }, tags: { $addToSet: "$tags" } } }],
    [{ $unwind: "$tags" }, { $group: { _id: "$tags", n: { $sum: 1 } } }, { $sort: { _id: 1 } }],
    [{ $count: "n" }],
  ]);
  return [{ $match: match }, ...behind];
}

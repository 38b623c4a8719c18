import type { PointCloud } from "./point_cloud_text.ts";

/** How a camera maps the room to its image, in pixels. */
export interface Lens {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly focalXPx: number;
  readonly focalYPx: number;
  readonly centerXPx: number;
  readonly centerYPx: number;
}

export interface Box {
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

/** A box along the axes around points. Metres. */
export interface Bounds {
  readonly centre: readonly [number, number, number];
  readonly size: readonly [number, number, number];
}

/**
 * The points of a cloud that the camera sees inside a box. Pure.
 *
 * @param box in shares of the image.
 */
export function pointsInBox(cloud: PointCloud, lens: Lens, box: Box): PointCloud {
  const kept: number[] = [];
  for (let at = 0; at < cloud.points.length / 3; at++) {
    const [x = 0, y = 0, z = 0] = cloud.points.subarray(at * 3, at * 3 + 3);
    if (!(z > 0)) continue; // Behind the camera, or nothing measured.
    const across = (x / z * lens.focalXPx + lens.centerXPx) / lens.widthPx;
    const down = (y / z * lens.focalYPx + lens.centerYPx) / lens.heightPx;
    if (across >= box.xMin && across < box.xMax && down >= box.yMin && down < box.yMax) {
      kept.push(at);
    }
  }
  return pick(cloud, kept);
}

/**
 * Without the points whose depth lies further from the median depth than so many standard
 * deviations: what shines through from behind, or hangs in front. Pure.
 */
export function withoutOutliers(cloud: PointCloud, deviations: number): PointCloud {
  const count = cloud.points.length / 3;
  if (count < 3) return cloud;
  const depths = Array.from({ length: count }, (_, at) => cloud.points[at * 3 + 2] ?? 0);
  const sorted = [...depths].sort((a, b) => a - b);
  const median = sorted[Math.floor(count / 2)] ?? 0;
  const square = depths.reduce((sum, depth) => sum + (depth - median) ** 2, 0) / count;
  const most = Math.sqrt(square) * deviations;
  const kept = depths.flatMap((depth, at) => Math.abs(depth - median) <= most ? [at] : []);
  return pick(cloud, kept);
}

/** The box around all points; undefined without any. Pure. */
export function boundsOf({ points }: PointCloud): Bounds | undefined {
  if (points.length === 0) return undefined;
  const ends = [0, 1, 2].map((axis) => {
    let [least, most] = [Infinity, -Infinity];
    for (let at = axis; at < points.length; at += 3) {
      const value = points[at] ?? 0;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    return [least, most] as const;
  });
  const of = (value: (ends: readonly [number, number]) => number) =>
    ends.map(value) as [number, number, number];
  return {
    centre: of(([least, most]) => (least + most) / 2),
    size: of(([least, most]) => most - least),
  };
}

function pick({ points, colours }: PointCloud, kept: readonly number[]): PointCloud {
  const picked = new Float32Array(kept.length * 3);
  kept.forEach((from, to) => picked.set(points.subarray(from * 3, from * 3 + 3), to * 3));
  return {
    points: picked,
    ...(colours && { colours: Uint32Array.from(kept, (from) => colours[from] ?? 0) }),
  };
}

/** Reads the files of shapes: meshes and points. */
import { PCDLoader } from "three/addons/loaders/PCDLoader.js";
import { PLYLoader } from "three/addons/loaders/PLYLoader.js";
import { STLLoader } from "three/addons/loaders/STLLoader.js";

/** What files of shapes are. */
export type FileKind = "ply" | "stl" | "pcd";

/** What a file holds, in millimetres. */
export interface FileContent {
  readonly positions: Float32Array<ArrayBuffer>;
  /** Triangles, by the numbers of their points; undefined: the points follow one another. */
  readonly index: Uint32Array<ArrayBuffer> | undefined;
}

/** Files have metres. */
const MM = 1_000;
const MOST_POINTS = 500_000;

/**
 * Not for the page itself: a file of a stranger can have it busy for hours.
 *
 * @returns undefined for one that is damaged, empty or has too many points.
 */
export function contentOf(kind: FileKind, file: Uint8Array): FileContent | undefined {
  try {
    const bytes = file.slice().buffer;
    const read = kind === "pcd"
      ? new PCDLoader().parse(bytes).geometry
      : (kind === "ply" ? new PLYLoader() : new STLLoader()).parse(bytes);
    const points = read.getAttribute("position");
    if (!points || points.count > MOST_POINTS) return undefined;
    // Whatever numbers the file has them as.
    const all = Float32Array.from(points.array, (metres) => metres * MM);
    const positions = kind === "pcd" ? onlySeen(all) : all;
    if (positions.length === 0 || !positions.every(Number.isFinite)) return undefined;
    const index = read.index && Uint32Array.from(read.index.array);
    if (index?.some((at) => at >= points.count)) return undefined;
    return { positions, index: index ?? undefined };
  } catch {
    return undefined;
  }
}

/** Cameras say of what they do not see that it is not a number. */
function onlySeen(positions: Float32Array): Float32Array<ArrayBuffer> {
  const seen = new Float32Array(positions.length);
  let length = 0;
  for (let at = 0; at < positions.length; at += 3) {
    const point = positions.subarray(at, at + 3);
    if (!point.every(Number.isFinite)) continue;
    seen.set(point, length);
    length += 3;
  }
  return seen.slice(0, length);
}

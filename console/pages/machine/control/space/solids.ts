/** Draws shapes with three.js; loaded when there is one. Lines and names are drawn above it. */
import {
  AmbientLight,
  Box3,
  BoxGeometry,
  type BufferGeometry,
  CapsuleGeometry,
  Color,
  DirectionalLight,
  Group,
  Matrix4,
  Mesh,
  MeshLambertMaterial,
  OrthographicCamera,
  Points,
  PointsMaterial,
  Scene,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import { PCDLoader } from "three/addons/loaders/PCDLoader.js";
import { PLYLoader } from "three/addons/loaders/PLYLoader.js";
import { STLLoader } from "three/addons/loaders/STLLoader.js";
import { type Form, keyOf, type Role, type Shape } from "./shapes.ts";
import { axesOf, axesOfView, type PoseLike, type Vector, type View } from "./view.ts";

/** Files have metres. */
const MM = 1_000;
const MOST_POINTS = 500_000;
const POINT_PIXELS = 2;

export interface Drawing {
  readonly shapes: readonly Shape[];
  readonly view: View;
  readonly width: number;
  readonly height: number;
  readonly colours: Readonly<Record<Role, string>>;
}

/** What was built for a form; undefined: its file cannot be read. */
type Built = BufferGeometry | undefined;

/** The picture below the lines. */
export class Solids {
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #camera = new OrthographicCamera();
  readonly #shown = new Group();
  readonly #materials = {
    part: new MeshLambertMaterial({ transparent: true, opacity: 0.75 }),
    obstacle: new MeshLambertMaterial({ transparent: true, opacity: 0.75 }),
  };
  readonly #points = {
    part: new PointsMaterial({ size: POINT_PIXELS, sizeAttenuation: false }),
    obstacle: new PointsMaterial({ size: POINT_PIXELS, sizeAttenuation: false }),
  };
  readonly #built = new Map<string, Built>();

  /** @throws {Error} where the browser has no WebGL. */
  constructor(canvas: HTMLCanvasElement) {
    this.#renderer = new WebGLRenderer({
      ...{ canvas, alpha: true, antialias: true, preserveDrawingBuffer: true },
    });
    const light = new DirectionalLight(0xffffff, 2);
    light.position.set(-1, -2, 3);
    this.#scene.add(new AmbientLight(0xffffff, 1.6), light, this.#shown);
    this.#camera.matrixAutoUpdate = false;
  }

  /**
   * Takes what is there now.
   *
   * @returns the corners of what it takes up, and how many shapes cannot be drawn.
   */
  set(shapes: readonly Shape[]): { readonly corners: readonly Vector[]; readonly unread: number } {
    this.#shown.clear();
    const used = new Set<string>();
    let unread = 0;
    for (const { role, form, at } of shapes) {
      const key = keyOf(form);
      used.add(key);
      if (!this.#built.has(key)) this.#built.set(key, build(form));
      const geometry = this.#built.get(key);
      if (!geometry) {
        unread++;
        continue;
      }
      const drawn = geometry.index === null && form.kind === "pcd"
        ? new Points(geometry, this.#points[role])
        : new Mesh(geometry, this.#materials[role]);
      drawn.matrixAutoUpdate = false;
      for (const pose of at) drawn.matrix.multiply(matrixOf(pose));
      this.#shown.add(drawn);
    }
    for (const [key, geometry] of this.#built) {
      if (used.has(key)) continue;
      geometry?.dispose();
      this.#built.delete(key);
    }
    this.#shown.updateMatrixWorld(true);
    const box = new Box3().setFromObject(this.#shown);
    const corners: Vector[] = box.isEmpty()
      ? []
      : [[box.min.x, box.min.y, box.min.z], [box.max.x, box.max.y, box.max.z]];
    return { corners, unread };
  }

  draw({ view, width, height, colours }: Omit<Drawing, "shapes">): void {
    for (const role of ["part", "obstacle"] as const) {
      this.#materials[role].color = new Color(colours[role]);
      this.#points[role].color = new Color(colours[role]);
    }
    const camera = this.#camera;
    const [right, up, back] = axesOfView(view).map((axis) => new Vector3(...axis));
    const halfWidth = width / 2 / view.scale;
    const halfHeight = height / 2 / view.scale;
    // Far enough for everything that is in the picture, and for what is in front of it.
    const far = 100 * Math.max(halfWidth, halfHeight);
    Object.assign(camera, { left: -halfWidth, right: halfWidth, top: halfHeight });
    Object.assign(camera, { bottom: -halfHeight, near: 0, far: 2 * far });
    camera.updateProjectionMatrix();
    camera.matrix.makeBasis(right!, up!, back!)
      .setPosition(new Vector3(...view.centre).addScaledVector(back!, far));
    camera.matrixWorldNeedsUpdate = true;
    this.#renderer.setPixelRatio(devicePixelRatio);
    this.#renderer.setSize(width, height, false);
    this.#renderer.render(this.#scene, camera);
  }

  close(): void {
    for (const geometry of this.#built.values()) geometry?.dispose();
    this.#built.clear();
    this.#renderer.dispose();
    this.#renderer.forceContextLoss();
  }
}

function matrixOf(pose: PoseLike): Matrix4 {
  const [x, y, z] = axesOf(pose).map((axis) => new Vector3(...axis));
  return new Matrix4().makeBasis(x!, y!, z!).setPosition(pose.x, pose.y, pose.z);
}

function build(form: Form): Built {
  switch (form.kind) {
    case "box":
      return new BoxGeometry(form.x, form.y, form.z);
    case "sphere":
      return new SphereGeometry(form.radius, 24, 16);
    case "capsule":
      // Along z, where three.js has it along y.
      return new CapsuleGeometry(form.radius, Math.max(0, form.length - 2 * form.radius), 8, 24)
        .rotateX(Math.PI / 2);
    default:
      try {
        return read(form.kind, form.file);
      } catch {
        return undefined; // Damaged; it is counted.
      }
  }
}

function read(kind: "ply" | "stl" | "pcd", file: Uint8Array): Built {
  const bytes = file.slice().buffer;
  const geometry = kind === "pcd"
    ? new PCDLoader().parse(bytes).geometry
    : (kind === "ply" ? new PLYLoader() : new STLLoader()).parse(bytes);
  const points = geometry.getAttribute("position");
  if (!points || points.count === 0 || points.count > MOST_POINTS) return undefined;
  if (!points.array.every(Number.isFinite)) return undefined;
  if (kind !== "pcd" && !geometry.getAttribute("normal")) geometry.computeVertexNormals();
  return geometry.scale(MM, MM, MM);
}

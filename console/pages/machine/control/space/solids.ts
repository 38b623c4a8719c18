/** Draws shapes with three.js; loaded when there is one. Lines and names are drawn above it. */
import {
  AmbientLight,
  Box3,
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
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
import { FileReading } from "./file_reading.ts";
import type { FileContent } from "./files.ts";
import { type Form, keyOf, type Role, type Shape } from "./shapes.ts";
import { axesOf, axesOfView, type PoseLike, type Vector, type View } from "./view.ts";

const POINT_PIXELS = 2;

export interface Drawing {
  readonly shapes: readonly Shape[];
  readonly view: View;
  readonly width: number;
  readonly height: number;
  readonly colours: Readonly<Record<Role, string>>;
}

/** What was built for a form; undefined: its file cannot be read. */
type Built = BufferGeometry | "reading" | undefined;

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
  readonly #files = new FileReading();

  /**
   * @param changed a file was read: call {@link set} again.
   * @throws {Error} where the browser has no WebGL.
   */
  constructor(canvas: HTMLCanvasElement, private readonly changed: () => void) {
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
      if (!this.#built.has(key)) this.#built.set(key, this.#build(form, key));
      const geometry = this.#built.get(key);
      if (geometry === "reading") continue;
      if (!geometry) {
        unread++;
        continue;
      }
      const drawn = form.kind === "pcd"
        ? new Points(geometry, this.#points[role])
        : new Mesh(geometry, this.#materials[role]);
      drawn.matrixAutoUpdate = false;
      for (const pose of at) drawn.matrix.multiply(matrixOf(pose));
      this.#shown.add(drawn);
    }
    for (const [key, geometry] of this.#built) {
      if (used.has(key)) continue;
      dispose(geometry);
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
    this.#files.close();
    for (const geometry of this.#built.values()) dispose(geometry);
    this.#built.clear();
    this.#renderer.dispose();
    this.#renderer.forceContextLoss();
  }

  #build(form: Form, key: string): Built {
    if (!("file" in form)) return build(form);
    void this.#files.read(form.kind, form.file).then((content) => {
      // It may have gone meanwhile.
      if (this.#built.get(key) !== "reading") return;
      this.#built.set(key, content && geometryOf(content, form.kind !== "pcd"));
      this.changed();
    });
    return "reading";
  }
}

function matrixOf(pose: PoseLike): Matrix4 {
  const [x, y, z] = axesOf(pose).map((axis) => new Vector3(...axis));
  return new Matrix4().makeBasis(x!, y!, z!).setPosition(pose.x, pose.y, pose.z);
}

function build(form: Exclude<Form, { readonly file: Uint8Array }>): BufferGeometry {
  switch (form.kind) {
    case "box":
      return new BoxGeometry(form.x, form.y, form.z);
    case "sphere":
      return new SphereGeometry(form.radius, 24, 16);
    default:
      // Along z, where three.js has it along y.
      return new CapsuleGeometry(form.radius, Math.max(0, form.length - 2 * form.radius), 8, 24)
        .rotateX(Math.PI / 2);
  }
}

function geometryOf({ positions, index }: FileContent, hasSides: boolean): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  if (index) geometry.setIndex(new BufferAttribute(index, 1));
  if (hasSides) geometry.computeVertexNormals();
  return geometry;
}

function dispose(built: Built): void {
  if (built && built !== "reading") built.dispose();
}

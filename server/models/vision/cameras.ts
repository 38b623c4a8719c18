import { Code, ConnectError } from "@connectrpc/connect";
import type {
  CameraService,
  Image,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";

export const CAMERA_API = "rdk:component:camera";

export type Camera = Driver<typeof CameraService>;

/** The cameras that a resource may look through, by the names of calls. */
export class Cameras {
  /**
   * @param resources by full name; those of other APIs are not looked at.
   * @param defaultName of calls that name none; empty when there is none.
   */
  constructor(
    private readonly resources: ReadonlyMap<string, Resource>,
    readonly defaultName: string,
  ) {}

  /** @throws {ConnectError} INVALID_ARGUMENT without a name, NOT_FOUND when none of it is ready. */
  find(given: string): { readonly name: string; readonly camera: Camera } {
    const name = given || this.defaultName;
    const known = [...this.resources.keys()].filter((key) => key.startsWith(`${CAMERA_API}/`))
      .map((key) => key.slice(CAMERA_API.length + 1));
    const ready = `cameras that are ready: ${known.join(", ") || "none"}`;
    if (name === "") {
      throw new ConnectError(
        `camera_name is empty and attributes.camera_name is not set; ${ready}`,
        Code.InvalidArgument,
      );
    }
    const camera = dependencyNamed(CAMERA_API, name, this.resources) as Camera | undefined;
    if (!camera) {
      throw new ConnectError(`there is no camera "${name}" that is ready; ${ready}`, Code.NotFound);
    }
    return { name, camera };
  }

  /** The camera's image of colours: the one named so, else the first that is an image. */
  async look(
    given: string,
    call: CallContext,
  ): Promise<{ name: string; camera: Camera; image: Image }> {
    const { name, camera } = this.find(given);
    return { name, camera, image: await imageOf(camera, name, call) };
  }
}

/** Depth images, of which a pixel is a distance. */
export const DEPTH_MIME_TYPE = "image/vnd.viam.dep";

/** The first image of colours that a camera gives. */
async function imageOf(camera: Camera, name: string, call: CallContext): Promise<Image> {
  if (!camera.getImages) {
    throw new ConnectError(`camera ${name} gives no images`, Code.FailedPrecondition);
  }
  const { images = [] } = await camera.getImages({
    ...{ $typeName: "viam.component.camera.v1.GetImagesRequest", name, filterSourceNames: [] },
  }, call);
  const image = images.find(({ sourceName }) => sourceName === "color") ??
    images.find(({ mimeType }) => mimeType !== DEPTH_MIME_TYPE);
  if (!image?.image) throw new ConnectError(`camera ${name} gave no image`, Code.Unavailable);
  return image as Image;
}

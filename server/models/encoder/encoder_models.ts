import { attributes, objectOf, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { BuiltinEnvironment } from "../environment.ts";

export interface IncrementalEncoderAttributes {
  board: string;
  pins: { a: string; b: string };
}

export interface SingleEncoderAttributes {
  board: string;
  pins: { i: string };
}

const board = text("Board with the pins, built in or of a module.");

/** Model `rdk:builtin:incremental` of `rdk:component:encoder`: two lines, which give the direction. */
export const incrementalEncoderModel = (
  { clock }: Pick<BuiltinEnvironment, "clock">,
): Model<IncrementalEncoderAttributes> => ({
  api: "rdk:component:encoder",
  model: "rdk:builtin:incremental",
  triedWith: "edges of an emulation of the kernel's GPIO; no real encoder",
  attributes: attributes<IncrementalEncoderAttributes>({
    board,
    pins: objectOf<IncrementalEncoderAttributes["pins"]>({
      a: text("Digital interrupt of the board with line A, which leads when turning forward."),
      b: text("Digital interrupt with line B."),
    }, "The encoder's lines."),
  }),
  dependencies: ({ board }) => ({ required: [board] }),
  async construct({ attributes: { board, pins }, dependencies, log }) {
    const { BoardEncoder } = await import("./board_encoder.ts");
    const { quadrature } = await import("./quadrature.ts");
    const used = useDriver(BoardService, "rdk:component:board", board, dependencies);
    return new BoardEncoder({
      board: used,
      pins: [pins.a, pins.b],
      count: quadrature(pins),
      clock,
      log,
    });
  },
});

/** Model `rdk:builtin:single` of `rdk:component:encoder`: one line; the motor gives the direction. */
export const singleEncoderModel = (
  { clock }: Pick<BuiltinEnvironment, "clock">,
): Model<SingleEncoderAttributes> => ({
  api: "rdk:component:encoder",
  model: "rdk:builtin:single",
  triedWith: "the same edges, and a motor that says the direction; no real encoder",
  attributes: attributes<SingleEncoderAttributes>({
    board,
    pins: objectOf<SingleEncoderAttributes["pins"]>({
      i: text("Digital interrupt of the board; each of its edges is a tick."),
    }, "The encoder's line."),
  }),
  dependencies: ({ board }) => ({ required: [board] }),
  async construct({ attributes: { board, pins }, dependencies, log }) {
    const { BoardEncoder } = await import("./board_encoder.ts");
    const used = useDriver(BoardService, "rdk:component:board", board, dependencies);
    return new BoardEncoder({ board: used, pins: [pins.i], count: undefined, clock, log });
  },
});

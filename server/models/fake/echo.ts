import type { JsonObject } from "@bufbuild/protobuf";

/** What fakes do with a command: they give it back. */
export const echo = (command: JsonObject): JsonObject => command;

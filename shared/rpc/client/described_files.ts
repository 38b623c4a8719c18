import { create, createFileRegistry, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/**
 * The types of a file that a peer described, and of all that it imports.
 *
 * `createFileRegistry(root, resolve)` of the library takes files in an order in which one that is
 * imported on two ways can come after a file that imports it; here what is imported comes first.
 *
 * @param root name of the file, as `app/gauge.proto`
 * @param files described files by their name; more than are imported may be there
 * @throws {Error} when a file that is imported is missing, or a type is
 */
export function registryOf(
  root: string,
  files: ReadonlyMap<string, FileDescriptorProto>,
): FileRegistry {
  const ordered: FileDescriptorProto[] = [];
  const seen = new Set<string>();
  const open: { readonly name: string; next: number }[] = [{ name: root, next: 0 }];
  seen.add(root);
  for (let top = open.at(-1); top; top = open.at(-1)) {
    const file = files.get(top.name);
    if (!file) throw new Error(`the file ${top.name} is imported, but not described`);
    const imported = file.dependency[top.next++];
    if (imported === undefined) {
      ordered.push(file);
      open.pop();
    } else if (!seen.has(imported)) {
      seen.add(imported);
      open.push({ name: imported, next: 0 });
    }
  }
  return createFileRegistry(create(FileDescriptorSetSchema, { file: ordered }));
}

/** Which image of a folder comes next. */
export type FolderOrder = "cycle" | "newest";

export interface ImageFileAttributes {
  color_image_file_path: string | undefined;
  folder_order: FolderOrder | undefined;
  pointcloud_file_path: string | undefined;
}

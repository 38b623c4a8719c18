/** A ball that lies on the floor; x is east of the middle of the room, y north of it. */
export interface Ball {
  x_m: number;
  y_m: number;
  radius_m: number;
  /** Red, green, blue, 0 to 255. */
  color: readonly [number, number, number];
}

export interface RoomCameraAttributes {
  movement_sensor: string;
  width_px: number | undefined;
  height_px: number | undefined;
  field_of_view_deg: number | undefined;
  room_width_m: number | undefined;
  room_length_m: number | undefined;
  balls: Ball[] | undefined;
}

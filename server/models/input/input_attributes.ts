export interface WebGamepadAttributes {
  timeout: number | undefined;
}

export interface GamepadAttributes {
  dev_file: string | undefined;
  auto_reconnect: boolean | undefined;
}

"""python-dbusmock's NetworkManager with what its template lacks: AddConnection2, Update2,
checkpoints, and activations that fail because of a wrong password."""

import dbus
import dbusmock
from dbusmock.templates import networkmanager
from dbusmock.templates.networkmanager import *  # noqa: F403

PASSWORD = "correct horse"
MANAGER = "org.freedesktop.NetworkManager"
ROOT = "/org/freedesktop/NetworkManager"
SECURITY = "802-11-wireless-security"
ACTIVE_IFACE = f"{MANAGER}.Connection.Active"
CONNECTION_IFACE = f"{MANAGER}.Settings.Connection"
DEACTIVATED = 4
FAILED, NO_SECRETS = 120, 7


def add_connection2(self, settings):
    settings["connection"]["autoconnect"] = False
    path = networkmanager.SettingsAddConnection(self, settings)
    profile = dbusmock.get_object(path)
    profile.AddMethod(
        CONNECTION_IFACE,
        "Update2",
        "a{sa{sv}}ua{sv}",
        "a{sv}",
        "self.settings = args[0]; ret = dbus.Dictionary({}, signature='sv')",
    )
    return (dbus.ObjectPath(path), dbus.Dictionary({}, signature="sv"))


def activate(self, profile, device, access_point):
    active = networkmanager.activate_connection(self, profile, device, access_point)
    settings = dbusmock.get_object(profile).settings
    is_wrong = settings.get(SECURITY, {}).get("psk") not in (None, PASSWORD)
    if is_wrong:
        radio = dbusmock.get_object(device)
        reason = (dbus.UInt32(FAILED), dbus.UInt32(NO_SECRETS))
        radio.Set(networkmanager.DEVICE_IFACE, "StateReason", reason)
        dbusmock.get_object(active).Set(ACTIVE_IFACE, "State", dbus.UInt32(DEACTIVATED))
    return active


def load(mock, parameters):
    networkmanager.load(mock, {**parameters, "Version": "1.42.4"})
    manager = dbusmock.get_object(ROOT)
    manager.activate_connection = activate
    checkpoint = f"ret = dbus.ObjectPath('{ROOT}/Checkpoint/1')"
    manager.AddMethod(MANAGER, "CheckpointCreate", "aouu", "o", checkpoint)
    manager.AddMethod(MANAGER, "CheckpointDestroy", "o", "", "")
    manager.AddMethod(MANAGER, "CheckpointRollback", "o", "a{su}", "ret = {}")
    settings = dbusmock.get_object(f"{ROOT}/Settings")
    settings.add_connection2 = add_connection2
    settings.AddMethod(
        f"{MANAGER}.Settings",
        "AddConnection2",
        "a{sa{sv}}ua{sv}",
        "oa{sv}",
        "ret = self.add_connection2(self, args[0])",
    )

//! The commands to devices, and the check whether a device accepts a command. This file has only
//! pure functions.

use engine::error::{Error, Reason, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::records::{Device, DeviceType};

/// The mode of a thermostat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Mode {
    Off,
    Heat,
    Cool,
    Auto,
}

/// A command to a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum DeviceCommand {
    Lock,
    Unlock,
    /// Sets the temperature, in degrees Celsius.
    Temperature(f64),
    Mode(Mode),
}

impl DeviceCommand {
    /// Returns the name of the command, which is the id of its operation.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lockDevice",
            Self::Unlock => "unlockDevice",
            Self::Temperature(_) => "setDeviceTemperature",
            Self::Mode(_) => "setDeviceMode",
        }
    }

    /// Returns the arguments of the command, as the service sends them to the device connector.
    pub(super) fn arguments(self) -> Value {
        match self {
            Self::Lock | Self::Unlock => json!({}),
            Self::Temperature(celsius) => json!({ "celsius": celsius }),
            Self::Mode(mode) => json!({ "mode": mode }),
        }
    }

    /// Returns the type of the devices that accept the command.
    const fn device_type(self) -> DeviceType {
        match self {
            Self::Lock | Self::Unlock => DeviceType::Lock,
            Self::Temperature(_) | Self::Mode(_) => DeviceType::Thermostat,
        }
    }

    /// Checks that a device accepts the command. Fails with 403 if the device's remote control is
    /// off, with 409 if the device is archived, and with 400 if the device has another type.
    pub(super) fn check(self, device: &Device) -> Result<()> {
        if device.is_remote_control_enabled == Some(false) {
            return Err(Error::forbidden(Reason::rule(
                "remote_control_off",
                "The remote control of this device is off (isRemoteControlEnabled).",
            )));
        }
        if device.is_archived == Some(true) {
            return Err(Error::conflict(Reason::rule(
                "device_archived",
                "This device is archived; it takes no commands.",
            )));
        }
        let required = self.device_type();
        if device.device_type == required {
            return Ok(());
        }
        let (is, required) = (device.device_type.as_ref(), required.as_ref());
        let message =
            format!("is a device of type `{is}`; the command needs one of type `{required}`");
        Err(Error::invalid(
            &["id"],
            Reason::rule("device_type", message),
        ))
    }
}

#[cfg(test)]
mod tests {
    use engine::error::ErrorKind;

    use super::*;

    fn device(kind: &str, fields: &Value) -> Device {
        let mut device = json!({
            "propertyId": null, "name": "D", "deviceType": kind, "vendor": "V", "isOnline": true,
        });
        for (name, value) in fields.as_object().unwrap() {
            device[name] = value.clone();
        }
        serde_json::from_value(device).unwrap()
    }

    fn refusal(command: DeviceCommand, kind: &str, fields: &Value) -> Option<ErrorKind> {
        let refusal = command.check(&device(kind, fields));
        refusal.err().map(|error| error.kind())
    }

    #[test]
    fn a_command_fits_one_type_of_device() {
        let commands = [
            (DeviceCommand::Lock, "lock"),
            (DeviceCommand::Unlock, "lock"),
            (DeviceCommand::Temperature(21.5), "thermostat"),
            (DeviceCommand::Mode(Mode::Auto), "thermostat"),
        ];
        for (command, fitting) in commands {
            for kind in ["lock", "thermostat", "noise_sensor", "hub"] {
                let expected = (kind != fitting).then_some(ErrorKind::Validation);
                assert_eq!(
                    refusal(command, kind, &json!({})),
                    expected,
                    "{command:?}, {kind}"
                );
            }
        }
    }

    #[test]
    fn an_archived_device_and_one_without_remote_control_take_no_command() {
        let of = |fields: Value| refusal(DeviceCommand::Lock, "lock", &fields);
        assert_eq!(
            of(json!({ "isRemoteControlEnabled": true, "isArchived": false })),
            None
        );
        assert_eq!(
            of(json!({ "isRemoteControlEnabled": null, "isArchived": null })),
            None
        );
        let off = json!({ "isRemoteControlEnabled": false });
        assert_eq!(of(off.clone()), Some(ErrorKind::Authorization));
        let archived = json!({ "isArchived": true });
        assert_eq!(of(archived.clone()), Some(ErrorKind::Conflict));
        assert_eq!(
            refusal(DeviceCommand::Lock, "hub", &off),
            Some(ErrorKind::Authorization)
        );
        assert_eq!(
            refusal(DeviceCommand::Lock, "hub", &archived),
            Some(ErrorKind::Conflict)
        );
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(DeviceCommand::Lock.arguments(), json!({}));
        assert_eq!(
            DeviceCommand::Temperature(21.5).arguments(),
            json!({ "celsius": 21.5 })
        );
        assert_eq!(
            DeviceCommand::Mode(Mode::Off).arguments(),
            json!({ "mode": "off" })
        );
    }
}

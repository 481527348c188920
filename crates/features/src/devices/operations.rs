//! The operations that send commands to devices. Each operation checks its command in one
//! transaction, calls the connector without a transaction, and stores the result in a second
//! transaction (`pipeline/command.rs`).

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Reason, Result};
use engine::moment::Moment;
use engine::operation::{ById, CommandContext, Needs, Operation};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::audited;
use super::command::{DeviceCommand, Mode};
use super::connector::{ConnectorRequest, DeviceConnector};
use crate::records::{Device, RecordKind, get_record};

/// The permissions that every command needs.
const NEEDS: Needs = Needs::Permissions(&[Permission::ViewDevices, Permission::ModifyProperties]);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "celsius": 21.5 }))]
struct SetDeviceTemperature {
    /// Id of the thermostat.
    id: Uuid,
    /// Target in degrees Celsius; decimals are allowed.
    #[schemars(range(min = 5, max = 35))]
    celsius: f64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({ "mode": "heat" }))]
struct SetDeviceMode {
    /// Id of the thermostat.
    id: Uuid,
    /// Mode that the thermostat is set to: `off`, `heat`, `cool`, or `auto` to heat or cool as
    /// needed.
    mode: Mode,
}

/// A command that was carried out.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "deviceId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "command": "lockDevice",
    "acceptedAt": "2026-11-21T09:30:00.000Z",
}))]
struct AcceptedCommand {
    device_id: Uuid,
    /// The id of the operation that sent the command.
    command: &'static str,
    /// When the device's provider accepted the command.
    accepted_at: Moment,
}

/// A command that has passed all checks of this service, and its device.
struct PreparedCommand {
    organization: Uuid,
    device: Uuid,
    command: DeviceCommand,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public("lockDevice", Method::POST, "/devices/{id}/lock", NEEDS)
            .summary("Lock a lock")
            .tool(
                "records",
                "Lock a door",
                "Locks a lock from `listDevices`, now.",
            )
            .idempotent()
            .audited(Audits::acts_on(audited::device))
            .commands(
                |context, input: ById| prepare(context, input.id, DeviceCommand::Lock),
                send,
            ),
        Operation::public("unlockDevice", Method::POST, "/devices/{id}/unlock", NEEDS)
            .summary("Unlock a lock")
            .tool(
                "records",
                "Unlock a door",
                "Unlocks a lock, so that whoever is there can enter.",
            )
            .idempotent()
            .destructive()
            .audited(Audits::acts_on(audited::device))
            .commands(
                |context, input: ById| prepare(context, input.id, DeviceCommand::Unlock),
                send,
            ),
        Operation::public(
            "setDeviceTemperature",
            Method::POST,
            "/devices/{id}/temperature",
            NEEDS,
        )
        .summary("Set the temperature that a thermostat reaches")
        .tool(
            "records",
            "Set a temperature",
            "Sets what a thermostat heats or cools to.",
        )
        .idempotent()
        .audited(Audits::acts_on(audited::device).recording(&["celsius"]))
        .commands(
            |context, input: SetDeviceTemperature| {
                prepare(context, input.id, DeviceCommand::Temperature(input.celsius))
            },
            send,
        ),
        Operation::public("setDeviceMode", Method::POST, "/devices/{id}/mode", NEEDS)
            .summary("Set the mode of a thermostat")
            .tool(
                "records",
                "Set a thermostat's mode",
                "Turns a thermostat off, or sets how it works.",
            )
            .idempotent()
            .audited(Audits::acts_on(audited::device).recording(&["mode"]))
            .commands(
                |context, input: SetDeviceMode| {
                    prepare(context, input.id, DeviceCommand::Mode(input.mode))
                },
                send,
            ),
    ]
}

/// Checks that the caller can access the device, and that the device accepts the command. Returns
/// the command for the device.
fn prepare(
    context: &mut Context<'_, '_>,
    device: Uuid,
    command: DeviceCommand,
) -> Result<PreparedCommand> {
    let record = get_record(context, RecordKind::Device, device)?;
    command.check(&record.read::<Device>()?)?;
    Ok(PreparedCommand {
        organization: context.organization.id,
        device,
        command,
    })
}

/// Sends a command to the device connector.
async fn send(context: CommandContext, prepared: PreparedCommand) -> Result<AcceptedCommand> {
    let connector = context
        .app_state
        .extension::<DeviceConnector>()
        .ok_or_else(|| {
            Error::not_configured(Reason::rule(
                "no_device_connector",
                "No device connector is configured (--device-connector-url).",
            ))
        })?;
    let order = ConnectorRequest {
        organization_id: prepared.organization,
        device_id: prepared.device,
        command: prepared.command.name(),
        arguments: prepared.command.arguments(),
        idempotency_key: context.idempotency_key,
    };
    connector.send(&order).await?;
    Ok(AcceptedCommand {
        device_id: prepared.device,
        command: order.command,
        accepted_at: Moment(context.clock.now()),
    })
}

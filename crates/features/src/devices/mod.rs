//! Commands to devices: lock, unlock, set a temperature, set a mode. `command.rs` checks a command,
//! and `connector.rs` sends it to the device connector, which carries it out.

mod audited;
mod command;
mod connector;
mod operations;

use engine::module::Module;

pub use connector::DeviceConnector;

/// The registration of this module.
pub static MODULE: Module = Module {
    operations: operations::operations,
    ..Module::new("devices")
};

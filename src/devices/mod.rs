//! Commands to devices: lock, unlock, temperature and mode. `command.rs` checks a command, and
//! `connector.rs` sends it to the service that carries it out.

mod audited;
mod command;
mod connector;
mod operations;

use engine::module::Module;

pub use connector::DeviceConnector;

/// The registration of this module.
pub(crate) static MODULE: Module = Module {
    operations: operations::operations,
    ..Module::new("devices")
};

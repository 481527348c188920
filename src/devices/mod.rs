//! Commands to devices: lock, unlock, temperature and mode. Another service carries them out.

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

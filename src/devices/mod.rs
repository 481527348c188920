//! Commands to devices: lock, unlock, temperature and mode. Another service carries them out.

mod audited;
mod command;
mod connector;
mod operations;

use engine::chapter::Chapter;

pub use connector::DeviceConnector;

/// The registration of this module.
pub(crate) static CHAPTER: Chapter = Chapter {
    operations: operations::operations,
    ..Chapter::new("devices")
};

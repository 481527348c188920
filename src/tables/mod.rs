//! Tables: records from a CSV file, with a header line and one record a line (rules:
//! records#csv-files).
//!
//! [`sheet`] reads the file, [`columns`] matches its headers to the fields of a kind, [`cells`]
//! reads a cell as the value of a field, [`names`] finds the records that a cell names, and
//! [`import`] puts it together. A file is imported whole or not at all.

mod cells;
mod columns;
mod dates;
mod import;
mod names;
mod sheet;

use engine::module::Module;

pub(crate) use columns::field_names;
pub use import::{ImportTable, Imported, TableError, import_file};

/// The registration of this module.
pub(crate) static MODULE: Module = Module {
    operations: import::operations,
    statements: || names::STATEMENTS.to_vec(),
    ..Module::new("tables")
};

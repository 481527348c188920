//! Import of records from a CSV file with a header line and one record per line (rules:
//! records#csv-files).
//!
//! Start with [`import`], which has the operation and writes the records. [`sheet`] parses the
//! file, and [`columns`] matches its headers to the fields of a kind. [`cells`] parses a cell as
//! the value of a field, and [`names`] finds the record to which a cell refers. A file is imported
//! as a whole or not at all.

mod cells;
mod columns;
mod dates;
mod import;
mod names;
mod sheet;

use engine::module::Module;

pub use columns::field_names;
pub use import::IMPORT_RECORDS;
pub use import::{ImportTable, Imported, LineResult, TableError, TableLine, import_file};

/// Registers this module's operations, statements and routes with the engine.
pub static MODULE: Module = Module {
    operations: import::operations,
    statements: || names::STATEMENTS.to_vec(),
    ..Module::new("tables")
};

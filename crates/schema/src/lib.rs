//! JSON Schemas (2020-12) compiled for validation, and the violations that they find in a value.
//!
//! This crate exists because the validator library consists of generic functions, and every crate
//! that calls them would compile them again. In this crate they are compiled once, optimized for
//! size.

use jsonschema::{ValidationError, Validator, draft202012};
use serde_json::Value;

pub use jsonschema::error;
pub use jsonschema::paths;

/// One violation of a schema: the position in the value, and the part of the schema that the value
/// violates at that position.
pub type Failure<'a> = ValidationError<'a>;

/// A format of texts: its name, and a function that returns whether a text has the format.
pub type Format = (&'static str, fn(&str) -> bool);

/// A schema that is compiled for validation.
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema that may use these formats. The error describes the fault of the
    /// schema.
    pub fn compile(schema: &Value, formats: &[Format]) -> Result<Self, String> {
        let options = formats
            .iter()
            .fold(draft202012::options(), |options, &(name, check)| {
                options.with_format(name, check)
            });
        options
            .should_validate_formats(true)
            .build(schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Returns each place where `value` violates the schema, in the order of the schema's keywords.
    pub fn failures<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Failure<'a>> {
        self.0.iter_errors(value)
    }
}

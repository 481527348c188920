//! Compiled JSON Schemas (2020-12), and the violations of a value.
//!
//! This crate exists because the validator is generic throughout, and every crate that calls it
//! would compile it again. Here it is compiled once, optimized for size.

use jsonschema::{ValidationError, Validator, draft202012};
use serde_json::Value;

pub use jsonschema::error;
pub use jsonschema::paths;

/// A violation: its position in the value, and the violated part of the schema.
pub type Failure<'a> = ValidationError<'a>;

/// A text format: its name, and a function that checks a text.
pub type Format = (&'static str, fn(&str) -> bool);

/// A schema that is compiled for validation.
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema with these formats. The error describes what is wrong with the schema.
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

    /// Returns all violations of a value, in the schema's order.
    pub fn failures<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Failure<'a>> {
        self.0.iter_errors(value)
    }
}

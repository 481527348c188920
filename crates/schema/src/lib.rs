//! JSON Schemas (2020-12), compiled, and what does not hold of a value.
//!
//! A crate of its own because the validator is generic throughout: whoever calls it compiles it anew, and here that is done
//! once, and for size.

use jsonschema::{ValidationError, Validator, draft202012};
use serde_json::Value;

pub use jsonschema::error;
pub use jsonschema::paths;

/// One thing that does not hold: where in the value, and what of the schema.
pub type Failure<'a> = ValidationError<'a>;

/// A format of texts: its name, and whether a text is of it.
pub type Format = (&'static str, fn(&str) -> bool);

/// A schema, compiled.
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema, its formats judged by these; an error says what is wrong with it.
    pub fn compile(schema: &Value, formats: &[Format]) -> Result<Self, String> {
        let options = formats.iter().fold(draft202012::options(), |options, &(name, holds)| options.with_format(name, holds));
        options.should_validate_formats(true).build(schema).map(Self).map_err(|error| error.to_string())
    }

    /// Everything that does not hold of a value, in the schema's order.
    pub fn failures<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Failure<'a>> {
        self.0.iter_errors(value)
    }
}

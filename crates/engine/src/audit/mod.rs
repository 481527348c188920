//! The audit log: who did what to what, one row a write.
//!
//! An operation says of itself what its write is to be told of ([`Audits`]), and the pipeline tells it: in the transaction of
//! the write, after everything else of it, and only where it succeeded. What is done where there is no operation, such as
//! signing in, is told by the same [`write`].
//!
//! What may be told is said field by field, and nothing else ever stands in a row: of a thing what its own read returns, of a
//! request what the operation names. The rest is named, without a value.

mod changes;
mod row;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::Context;
use crate::error::{Error, Result};
pub use changes::{Change, difference, made, told};
pub(crate) use row::STATEMENTS;
pub use row::{Actor, ActorKind, Entry, sweep, write};

/// Fields by their names.
pub type Fields = Map<String, Value>;

/// Finds what an input names, as it is at that moment, if it is there.
pub type Reader = fn(&mut Context<'_, '_>, &Value) -> Result<Option<Thing>>;

/// Says what an input names.
pub type Namer = fn(&mut Context<'_, '_>, &Value) -> Result<Target>;

/// What is told of an operation's write.
#[derive(Clone, Copy)]
pub struct Audits {
    pub(crate) what: What,
    pub(crate) tells: &'static [&'static str],
    pub(crate) withholds: &'static [&'static str],
}

/// What an operation does, as far as the log is concerned.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// Makes a thing of this type, which its answer shows; it is called what this field says.
    Makes(&'static str, &'static str),
    /// Makes, changes or removes what its input names.
    Changes(Reader),
    /// Does something to what its input names, and leaves it as it is.
    Does(Namer),
}

impl Audits {
    /// Makes a thing of a type, which is called what a field of it says: told are the fields that were sent, as the answer
    /// shows them.
    #[must_use]
    pub const fn makes(kind: &'static str, name: &'static str) -> Self {
        Self { what: What::Makes(kind, name), tells: &[], withholds: &[] }
    }

    /// Makes, changes or removes what the input names: told is what is another than it was. Where nothing is, nothing
    /// happened.
    #[must_use]
    pub const fn changes(reader: Reader) -> Self {
        Self { what: What::Changes(reader), tells: &[], withholds: &[] }
    }

    /// Does something to what the input names.
    #[must_use]
    pub const fn does(namer: Namer) -> Self {
        Self { what: What::Does(namer), tells: &[], withholds: &[] }
    }

    /// Tells these fields besides: as they were sent, or else as they are answered.
    #[must_use]
    pub const fn telling(mut self, fields: &'static [&'static str]) -> Self {
        self.tells = fields;
        self
    }

    /// Whether it makes a thing, which is what the log names then.
    #[must_use]
    pub const fn is_making(&self) -> bool {
        matches!(self.what, What::Makes(..))
    }

    /// Whether what the log names is left as it is.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        matches!(self.what, What::Does(_))
    }

    /// Whether what is told stands in the answer, some of it at least.
    pub(crate) const fn reads_answer(&self) -> bool {
        matches!(self.what, What::Makes(..)) || !self.tells.is_empty()
    }

    /// Names these fields of the answer besides: they are secrets.
    #[must_use]
    pub const fn withholding(mut self, fields: &'static [&'static str]) -> Self {
        self.withholds = fields;
        self
    }
}

/// What something was done to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// What sort of thing.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which, where it has an id.
    pub id: Option<Uuid>,
    /// What it was called then.
    pub name: Option<String>,
}

impl Target {
    /// A thing of a sort.
    #[must_use]
    pub fn new(kind: &str, id: Option<Uuid>, name: Option<String>) -> Self {
        Self { kind: kind.to_owned(), id, name }
    }
}

/// A thing as it is at a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thing {
    /// Which it is.
    pub target: Target,
    /// What of it is told where it changes.
    pub shown: Fields,
    /// What of it is named where it changes, and never told.
    pub withheld: Fields,
    /// Lists of it, each without an order and perhaps a part of the whole: told is what went and what came.
    pub sets: Fields,
}

impl Thing {
    /// A thing of which nothing is compared yet.
    #[must_use]
    pub fn new(kind: &str, id: Option<Uuid>, name: Option<String>) -> Self {
        Self { target: Target::new(kind, id, name), ..Self::default() }
    }

    /// With fields that are told.
    pub fn showing(mut self, fields: &impl Serialize) -> Result<Self> {
        self.shown.append(&mut object(fields)?);
        Ok(self)
    }

    /// With fields that are named and never told.
    pub fn withholding(mut self, fields: &impl Serialize) -> Result<Self> {
        self.withheld.append(&mut object(fields)?);
        Ok(self)
    }

    /// With lists of which is told what went and what came.
    pub fn gathering(mut self, lists: &impl Serialize) -> Result<Self> {
        self.sets.append(&mut object(lists)?);
        Ok(self)
    }
}

fn object(fields: &impl Serialize) -> Result<Fields> {
    match serde_json::to_value(fields).map_err(Error::internal)? {
        Value::Object(fields) => Ok(fields),
        other => Err(Error::internal(format!("{other} has no fields"))),
    }
}

/// The id that a field of an input is.
#[must_use]
pub fn id(input: &Value, field: &str) -> Option<Uuid> {
    input.get(field)?.as_str()?.parse().ok()
}

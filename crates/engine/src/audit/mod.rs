//! The audit log: one row for each write, with the caller, the object and the changes.
//!
//! An operation declares its audit entry ([`Audits`]). The pipeline writes the entry as the last
//! step of a successful write, in the write's transaction. Code that changes data outside of
//! operations, such as the sign-in of a member, calls [`write`] itself.
//!
//! A row contains the values of two groups of fields: the fields that the read operation of the
//! object returns, and the input fields that the write operation lists. For other changed fields,
//! the row contains only their names.

mod changes;
mod row;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::context::Context;
use crate::error::{Error, Result};
pub use changes::{Change, created, difference, recorded};
pub(crate) use row::STATEMENTS;
pub use row::{Actor, ActorKind, AuditEntryRow, sweep, write};

/// Fields of an object, by their names.
pub type AuditFields = Map<String, Value>;

/// A function that reads the object that an input refers to. Returns `None` if the object does not
/// exist.
pub type ObjectReader = fn(&mut Context<'_, '_>, &Value) -> Result<Option<AuditedObject>>;

/// A function that returns the type, the id and the name of the object that an input refers to.
pub type TargetReader = fn(&mut Context<'_, '_>, &Value) -> Result<Target>;

/// Describes the audit entries that an operation writes: the affected object, and the fields of
/// input and answer that an entry contains.
#[derive(Clone, Copy)]
pub struct Audits {
    pub(crate) what: WriteKind,
    pub(crate) recorded_fields: &'static [&'static str],
    pub(crate) secret_fields: &'static [&'static str],
}

/// How an operation affects the object that its audit entry names.
#[derive(Clone, Copy)]
pub(crate) enum WriteKind {
    /// Creates an object. The first value is the object's type, and the second is the field that
    /// contains the object's name.
    Creates(&'static str, &'static str),
    /// Creates, changes or deletes the object that the input refers to.
    Changes(ObjectReader),
    /// Acts on the object that the input refers to, without changing it. For example, it sends a
    /// webhook delivery again.
    ActsOn(TargetReader),
}

impl Audits {
    /// Declares an operation that creates an object of type `kind`. `name` is the field that
    /// contains the object's name. The audit entry records the fields that the caller sent, with
    /// the values that the operation's answer has for them.
    #[must_use]
    pub const fn makes(kind: &'static str, name: &'static str) -> Self {
        Self {
            what: WriteKind::Creates(kind, name),
            recorded_fields: &[],
            secret_fields: &[],
        }
    }

    /// Declares an operation that creates, changes or deletes the object that the input refers to.
    /// The entry records the fields that differ before and after the operation. If the object is
    /// unchanged, no entry is written.
    #[must_use]
    pub const fn changes(reader: ObjectReader) -> Self {
        Self {
            what: WriteKind::Changes(reader),
            recorded_fields: &[],
            secret_fields: &[],
        }
    }

    /// Declares an operation that acts on the object that the input refers to, without changing it.
    #[must_use]
    pub const fn acts_on(reader: TargetReader) -> Self {
        Self {
            what: WriteKind::ActsOn(reader),
            recorded_fields: &[],
            secret_fields: &[],
        }
    }

    /// Sets the fields that the audit entry records. The entry has the value that the request sent
    /// for a field, or else the value in the operation's answer.
    #[must_use]
    pub const fn recording(mut self, fields: &'static [&'static str]) -> Self {
        self.recorded_fields = fields;
        self
    }

    /// Returns whether the operation creates the object that its audit entry names.
    #[must_use]
    pub const fn creates_object(&self) -> bool {
        matches!(self.what, WriteKind::Creates(..))
    }

    /// Returns true if the operation does not change the object that its audit entry names.
    #[must_use]
    pub const fn leaves_unchanged(&self) -> bool {
        matches!(self.what, WriteKind::ActsOn(_))
    }

    /// Returns whether the audit entry contains data from the operation's answer.
    pub(crate) const fn reads_answer(&self) -> bool {
        matches!(self.what, WriteKind::Creates(..)) || !self.recorded_fields.is_empty()
    }

    /// Sets the fields of the answer that contain secrets. Only the names of these fields are
    /// recorded.
    #[must_use]
    pub const fn withholding(mut self, fields: &'static [&'static str]) -> Self {
        self.secret_fields = fields;
        self
    }
}

/// The object of an audit entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    /// The type of the object.
    #[serde(rename = "type")]
    pub kind: String,
    /// The id of the object; `None` if it has none.
    pub id: Option<Uuid>,
    /// The name of the object at the time of the write.
    pub name: Option<String>,
}

impl Target {
    /// Creates the target of an audit entry: an object of type `kind`.
    #[must_use]
    pub fn new(kind: &str, id: Option<Uuid>, name: Option<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            id,
            name,
        }
    }
}

/// An object at one time, such as before or after a write, with the fields that the audit log
/// compares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditedObject {
    /// The type, the id and the name of the object.
    pub target: Target,
    /// Fields whose changes are recorded with their values.
    pub shown: AuditFields,
    /// Secret fields. If a secret field changes, the audit entry contains its name, but never its
    /// value.
    pub withheld: AuditFields,
    /// Fields that are unordered lists. The audit entry records the items that the operation adds
    /// or removes. The [`ObjectReader`] may load only these items.
    pub sets: AuditFields,
}

impl AuditedObject {
    /// Creates an object without fields to compare.
    #[must_use]
    pub fn new(kind: &str, id: Option<Uuid>, name: Option<String>) -> Self {
        Self {
            target: Target::new(kind, id, name),
            ..Self::default()
        }
    }

    /// Adds fields whose changes are recorded with their values.
    pub fn showing(mut self, fields: &impl Serialize) -> Result<Self> {
        self.shown.append(&mut object(fields)?);
        Ok(self)
    }

    /// Adds secret fields of the object. If a secret field changes, the audit entry contains the
    /// name of the field, but never its value.
    pub fn withholding(mut self, fields: &impl Serialize) -> Result<Self> {
        self.withheld.append(&mut object(fields)?);
        Ok(self)
    }

    /// Adds fields that contain unordered lists. The audit entry records only the items that the
    /// operation adds to such a list or removes from it.
    pub fn with_lists(mut self, lists: &impl Serialize) -> Result<Self> {
        self.sets.append(&mut object(lists)?);
        Ok(self)
    }
}

fn object(fields: &impl Serialize) -> Result<AuditFields> {
    match serde_json::to_value(fields).map_err(Error::internal)? {
        Value::Object(fields) => Ok(fields),
        other => Err(Error::internal(format!("{other} has no fields"))),
    }
}

/// Parses the id in a field of an input. Returns `None` if the field is missing or is not a UUID.
#[must_use]
pub fn id(input: &Value, field: &str) -> Option<Uuid> {
    input.get(field)?.as_str()?.parse().ok()
}

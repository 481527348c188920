//! Reasons for errors in a field or a whole request. Each reason is a variant, so that pages can
//! translate it, and has an English text for responses.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// The reason for an error in a field or in a whole request. `Display` writes the English text that
/// responses contain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The field is missing.
    Required,
    /// The field is read-only: only the service sets it.
    ReadOnly,
    /// The field is unknown.
    Unknown,
    /// The field is unknown, but its name resembles a known name. The value is the most similar
    /// known name.
    Misspelt(String),
    /// The field is sent at the top level, but an update accepts it only inside `data`.
    InsideData,
    /// The value does not have this JSON type, which is the only type that the field accepts.
    Type(String),
    /// The field accepts several JSON types, and the value has none of them.
    WrongType,
    /// The text or list is empty.
    Empty,
    /// The text has no visible character.
    Blank,
    /// The text has fewer characters than this minimum.
    MinLength(u64),
    /// The text has more characters than this maximum.
    MaxLength(u64),
    /// The list has fewer items than this minimum.
    MinItems(u64),
    /// The list has more items than this maximum.
    MaxItems(u64),
    /// The object has more fields than this maximum.
    MaxFields(u64),
    /// A field of the object has an invalid name, for this reason.
    FieldName(Box<Reason>),
    /// The list contains an item twice.
    Twice,
    /// The number is less than this minimum.
    Minimum(String),
    /// The number is greater than this maximum.
    Maximum(String),
    /// The value is not one of these allowed values.
    OneOf(String),
    /// The value differs from this one, which is the only allowed value.
    Exactly(String),
    /// The text does not match this pattern.
    Pattern(String),
    /// The text does not have this format. The second value describes the format.
    Format(String, &'static str),
    /// The text contains U+0000.
    NullCharacter,
    /// The text is not a valid phone number.
    Phone,
    /// The time is not in the future.
    Passed,
    /// The parameter occurs more than once in the query.
    Repeated,
    /// The parameter is neither true nor false.
    NoSwitch,
    /// The parameter is not a whole number.
    NoInteger,
    /// The value is invalid for a reason that has no variant in this enum. The schema validator
    /// found the fault.
    Invalid,
    /// The caller lacks this permission.
    Permission(&'static str),
    /// The value breaks a rule of a module. The first value is the name of the rule, and the second
    /// is the message.
    Rule(&'static str, Cow<'static, str>),
    /// Any other reason, as an English message. Pages cannot translate it.
    Text(Cow<'static, str>),
}

impl Reason {
    /// Creates a reason for a broken rule of a module, with the rule's name and a message.
    pub fn rule(name: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Rule(name, message.into())
    }
}

fn with_unit(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("is required"),
            Self::ReadOnly => f.write_str("read-only field"),
            Self::Unknown => f.write_str("unrecognized field"),
            Self::Misspelt(nearest) => write!(f, "unrecognized field; did you mean \"{nearest}\"?"),
            Self::InsideData => f.write_str("must be inside data"),
            Self::Type(name) => write!(f, "must be of type {name}"),
            Self::WrongType => f.write_str("has the wrong type"),
            Self::Empty => f.write_str("must not be empty"),
            Self::Blank => f.write_str("must not be blank"),
            Self::MinLength(limit) => {
                write!(f, "must have at least {}", with_unit(*limit, "character"))
            }
            Self::MaxLength(limit) => {
                write!(f, "must have at most {}", with_unit(*limit, "character"))
            }
            Self::MinItems(limit) => write!(f, "must have at least {}", with_unit(*limit, "item")),
            Self::MaxItems(limit) => write!(f, "must have at most {}", with_unit(*limit, "item")),
            Self::MaxFields(limit) => write!(f, "must have at most {}", with_unit(*limit, "field")),
            Self::FieldName(reason) => write!(f, "has a field whose name {reason}"),
            Self::Twice => f.write_str("must not contain anything twice"),
            Self::Minimum(limit) => write!(f, "must be at least {limit}"),
            Self::Maximum(limit) => write!(f, "must be at most {limit}"),
            Self::OneOf(options) => write!(f, "must be one of {options}"),
            Self::Exactly(value) => write!(f, "must be {value}"),
            Self::Pattern(pattern) => write!(f, "must match {pattern}"),
            Self::Format(_, description) => write!(f, "must be {description}"),
            Self::NullCharacter => f.write_str("must not contain U+0000"),
            Self::Phone => f.write_str("is not a valid phone number"),
            Self::Passed => f.write_str("has passed"),
            Self::Repeated => f.write_str("is given more than once"),
            Self::NoSwitch => f.write_str("must be true or false"),
            Self::NoInteger => f.write_str("must be a whole number"),
            Self::Invalid => f.write_str("is not valid"),
            Self::Permission(name) => write!(f, "Missing permission {name}."),
            Self::Rule(_, message) | Self::Text(message) => f.write_str(message),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<&'static str> for Reason {
    fn from(message: &'static str) -> Self {
        Self::Text(message.into())
    }
}

impl From<String> for Reason {
    fn from(message: String) -> Self {
        Self::Text(message.into())
    }
}

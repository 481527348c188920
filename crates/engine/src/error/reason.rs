//! What can be wrong with a field, or with a request as a whole: by what it is, so that it can be said in other words, and in the
//! interface's own.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// What is wrong with a field, or with a request as a whole. As text it is what the interface answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is missing.
    Required,
    /// Nobody sets it.
    ReadOnly,
    /// There is no such field.
    Unknown,
    /// It stands in the wrong place.
    InsideData,
    /// It is of another type than this.
    Type(String),
    /// It is of none of the types it may be of.
    WrongType,
    /// It has no character.
    Empty,
    /// It has no character that is seen.
    Blank,
    /// It has fewer characters.
    MinLength(u64),
    /// It has more characters.
    MaxLength(u64),
    /// It has fewer items.
    MinItems(u64),
    /// It has more items.
    MaxItems(u64),
    /// It has more fields.
    MaxFields(u64),
    /// One of its fields has a name of which this is wrong.
    FieldName(Box<Reason>),
    /// Something is in it twice.
    Twice,
    /// It is less.
    Minimum(String),
    /// It is more.
    Maximum(String),
    /// It is none of these.
    OneOf(String),
    /// It is not this.
    Exactly(String),
    /// It does not match.
    Pattern(String),
    /// It does not have a format: its name, and what is wanted.
    Format(String, &'static str),
    /// It has a character that no text has.
    NullCharacter,
    /// It is no phone number.
    Phone,
    /// It is a moment that has passed.
    Passed,
    /// It is given several times.
    Repeated,
    /// It is neither true nor false.
    NoSwitch,
    /// It is no whole number.
    NoInteger,
    /// It is wrong in a way that a schema does not tell.
    Invalid,
    /// The caller does not hold this permission.
    Permission(&'static str),
    /// It breaks a rule of a chapter, which has a name.
    Rule(&'static str, Cow<'static, str>),
    /// Something else, in these words.
    Said(Cow<'static, str>),
}

impl Reason {
    /// A rule of a chapter that is broken: its name, and how that is said.
    pub fn rule(name: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Rule(name, message.into())
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("is required"),
            Self::ReadOnly => f.write_str("read-only field"),
            Self::Unknown => f.write_str("unrecognized field"),
            Self::InsideData => f.write_str("belongs inside data"),
            Self::Type(wanted) => write!(f, "must be of type {wanted}"),
            Self::WrongType => f.write_str("has the wrong type"),
            Self::Empty => f.write_str("must not be empty"),
            Self::Blank => f.write_str("must not be blank"),
            Self::MinLength(limit) => write!(f, "must have at least {}", counted(*limit, "character")),
            Self::MaxLength(limit) => write!(f, "must have at most {}", counted(*limit, "character")),
            Self::MinItems(limit) => write!(f, "must have at least {}", counted(*limit, "item")),
            Self::MaxItems(limit) => write!(f, "must have at most {}", counted(*limit, "item")),
            Self::MaxFields(limit) => write!(f, "must have at most {}", counted(*limit, "field")),
            Self::FieldName(reason) => write!(f, "has a field whose name {reason}"),
            Self::Twice => f.write_str("must not name anything twice"),
            Self::Minimum(limit) => write!(f, "must be at least {limit}"),
            Self::Maximum(limit) => write!(f, "must be at most {limit}"),
            Self::OneOf(options) => write!(f, "must be one of {options}"),
            Self::Exactly(value) => write!(f, "must be {value}"),
            Self::Pattern(pattern) => write!(f, "must match {pattern}"),
            Self::Format(_, wanted) => write!(f, "must be {wanted}"),
            Self::NullCharacter => f.write_str("must not contain U+0000"),
            Self::Phone => f.write_str("is not a valid phone number"),
            Self::Passed => f.write_str("has passed"),
            Self::Repeated => f.write_str("is given more than once"),
            Self::NoSwitch => f.write_str("must be true or false"),
            Self::NoInteger => f.write_str("must be a whole number"),
            Self::Invalid => f.write_str("is not valid"),
            Self::Permission(name) => write!(f, "Missing permission {name}."),
            Self::Rule(_, message) | Self::Said(message) => f.write_str(message),
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
        Self::Said(message.into())
    }
}

impl From<String> for Reason {
    fn from(message: String) -> Self {
        Self::Said(message.into())
    }
}

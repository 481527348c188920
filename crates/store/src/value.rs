//! Typed values for statements and typed columns of rows.

use std::error::Error as StdError;
use std::ffi::CStr;
use std::rc::Rc;

use bytes::{BufMut, BytesMut};
use jiff::Timestamp;
use rusqlite::types::{ToSqlOutput, Value as Sqlite, ValueRef};
use serde::de::DeserializeOwned;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::row_arena::ArenaRow;

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL `NULL`.
    Null,
    /// A truth value: SQLite `INTEGER` 0 or 1, PostgreSQL `boolean`.
    Bool(bool),
    /// A 64-bit integer: SQLite `INTEGER`, PostgreSQL `bigint` or `integer`.
    Integer(i64),
    /// A text: `TEXT` in both databases.
    Text(String),
    /// Bytes: SQLite `BLOB`, PostgreSQL `bytea`.
    Bytes(Vec<u8>),
    /// An id: SQLite `BLOB` of 16 bytes, PostgreSQL `uuid`.
    Uuid(Uuid),
    /// A time: SQLite `INTEGER` (microseconds since 1970), PostgreSQL `timestamptz`.
    Timestamp(Timestamp),
    /// A JSON document as text: SQLite `TEXT`, PostgreSQL `jsonb`.
    Json(String),
    /// A list of ids, for `= any(?n)`.
    Uuids(Vec<Uuid>),
    /// A list of texts, for `= any(?n)`.
    Texts(Vec<String>),
    /// A list of byte strings, for `= any(?n)`.
    ManyBytes(Vec<Vec<u8>>),
}

impl Value {
    /// Serializes a document as a JSON value.
    pub fn json(document: &impl serde::Serialize) -> Result<Self> {
        serde_json::to_string(document)
            .map(Self::Json)
            .map_err(|error| Error::Defect(error.to_string()))
    }
}

macro_rules! from {
    ($($type:ty => $make:expr;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                $make(value)
            }
        })*
    };
}

from! {
    bool => Value::Bool;
    i64 => Value::Integer;
    i32 => |n| Value::Integer(i64::from(n));
    u32 => |n| Value::Integer(i64::from(n));
    String => Value::Text;
    &str => |text: &str| Value::Text(text.to_owned());
    &String => |text: &String| Value::Text(text.clone());
    Uuid => Value::Uuid;
    &Uuid => |id: &Uuid| Value::Uuid(*id);
    Timestamp => Value::Timestamp;
    Vec<Uuid> => Value::Uuids;
    &[Uuid] => |ids: &[Uuid]| Value::Uuids(ids.to_vec());
    Vec<String> => Value::Texts;
    Vec<Vec<u8>> => Value::ManyBytes;
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The pointer type by which the SQL function `rarray` recognizes its argument.
const ARRAY_TYPE: &CStr = c"rarray";

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let array = |values: Vec<Sqlite>| ToSqlOutput::from_rc(Rc::new(values), ARRAY_TYPE);
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Sqlite::Null),
            Self::Bool(flag) => ToSqlOutput::Owned(Sqlite::Integer(i64::from(*flag))),
            Self::Integer(number) => ToSqlOutput::Owned(Sqlite::Integer(*number)),
            Self::Text(text) | Self::Json(text) => {
                ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
            }
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Uuid(id) => ToSqlOutput::Borrowed(ValueRef::Blob(id.as_bytes())),
            Self::Timestamp(timestamp) => {
                ToSqlOutput::Owned(Sqlite::Integer(timestamp.as_microsecond()))
            }
            Self::Uuids(ids) => array(
                ids.iter()
                    .map(|id| Sqlite::Blob(id.as_bytes().to_vec()))
                    .collect(),
            ),
            Self::Texts(texts) => array(texts.iter().cloned().map(Sqlite::Text).collect()),
            Self::ManyBytes(values) => array(values.iter().cloned().map(Sqlite::Blob).collect()),
        })
    }
}

/// Version of the binary format of jsonb. PostgreSQL expects this byte before the JSON text.
const JSONB_VERSION: u8 = 1;
/// 2000-01-01T00:00:00Z in microseconds since 1970. PostgreSQL counts time from this moment.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Bool(flag) if *ty == Type::BOOL => out.put_u8(u8::from(*flag)),
            Self::Integer(number) if *ty == Type::INT8 => out.put_i64(*number),
            Self::Integer(number) if *ty == Type::INT4 => out.put_i32(i32::try_from(*number)?),
            Self::Text(text) if [Type::TEXT, Type::VARCHAR, Type::UNKNOWN].contains(ty) => {
                out.put_slice(text.as_bytes());
            }
            Self::Bytes(bytes) if *ty == Type::BYTEA => out.put_slice(bytes),
            Self::Uuid(id) if *ty == Type::UUID => out.put_slice(id.as_bytes()),
            Self::Timestamp(timestamp) if *ty == Type::TIMESTAMPTZ => {
                out.put_i64(timestamp.as_microsecond() - POSTGRES_EPOCH);
            }
            Self::Json(text) if *ty == Type::JSONB => {
                out.put_u8(JSONB_VERSION);
                out.put_slice(text.as_bytes());
            }
            Self::Uuids(ids) if *ty == Type::UUID_ARRAY => return ids.to_sql(ty, out),
            Self::Texts(texts) if *ty == Type::TEXT_ARRAY => return texts.to_sql(ty, out),
            Self::ManyBytes(values) if *ty == Type::BYTEA_ARRAY => return values.to_sql(ty, out),
            other => return Err(format!("{other:?} does not fit a parameter of type {ty}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A row of a query's result.
pub struct Row(pub(crate) Columns);

pub(crate) enum Columns {
    Sqlite(ArenaRow),
    Postgres(tokio_postgres::Row),
}

impl Row {
    /// Returns the column at `index`, counted from 0.
    pub fn get<T: FromColumn>(&self, index: usize) -> Result<T> {
        match &self.0 {
            Columns::Sqlite(row) => {
                let value = row
                    .get(index)
                    .ok_or_else(|| Error::Defect(format!("the row has no column {index}")))?;
                T::from_sqlite(value)
            }
            Columns::Postgres(row) => T::from_postgres(row, index),
        }
    }
}

/// A row that is passed to a callback. It can be read only until the callback returns.
pub struct BorrowedRow<'r>(pub(crate) BorrowedColumns<'r>);

pub(crate) enum BorrowedColumns<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r Row),
}

impl BorrowedRow<'_> {
    /// Returns the column at `index`, counted from 0.
    pub fn get<T: FromColumn>(&self, index: usize) -> Result<T> {
        match self.0 {
            BorrowedColumns::Sqlite(row) => T::from_sqlite(row.get_ref(index)?),
            BorrowedColumns::Postgres(row) => row.get(index),
        }
    }
}

/// A type that the value of a column can be converted into.
pub trait FromColumn: Sized {
    #[doc(hidden)]
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self>;
    #[doc(hidden)]
    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self>;
}

/// A JSON column, decoded as `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// A JSON column as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(pub String);

/// The text of a `jsonb` value, borrowed from a row.
struct RawJson<'a>(&'a str);

fn wrong_type(expected: &str, value: ValueRef<'_>) -> Error {
    Error::Defect(format!(
        "a column holds {} where {expected} was expected",
        value.data_type()
    ))
}

fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text)
        .map_err(|error| Error::Defect(format!("a text is not valid UTF-8: {error}")))
}

macro_rules! column {
    ($type:ty, $wanted:literal, $pattern:pat => $value:expr) => {
        impl FromColumn for $type {
            fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
                match value {
                    $pattern => Ok($value),
                    other => Err(wrong_type($wanted, other)),
                }
            }

            fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
                Ok(row.try_get(index)?)
            }
        }
    };
}

column!(bool, "a boolean", ValueRef::Integer(number) => number != 0);
column!(i64, "an integer", ValueRef::Integer(number) => number);
column!(String, "text", ValueRef::Text(text) => utf8(text)?.to_owned());
column!(Vec<u8>, "bytes", ValueRef::Blob(bytes) => bytes.to_vec());

impl FromColumn for Uuid {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Blob(bytes) => {
                Self::from_slice(bytes).map_err(|_| wrong_type("a uuid", value))
            }
            other => Err(wrong_type("a uuid", other)),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        Ok(row.try_get(index)?)
    }
}

fn timestamp(microseconds: i64) -> Result<Timestamp> {
    Timestamp::from_microsecond(microseconds).map_err(|error| Error::Defect(error.to_string()))
}

struct Microseconds(i64);

impl<'a> FromSql<'a> for Microseconds {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?) + POSTGRES_EPOCH))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

impl FromColumn for Timestamp {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Integer(microseconds) => timestamp(microseconds),
            other => Err(wrong_type("a timestamp", other)),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        timestamp(row.try_get::<_, Microseconds>(index)?.0)
    }
}

impl<'a> FromSql<'a> for RawJson<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        match raw.split_first() {
            Some((&JSONB_VERSION, text)) => Ok(Self(std::str::from_utf8(text)?)),
            _ => Err("the version of a jsonb value is unknown".into()),
        }
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<Json<T>> {
    serde_json::from_str(text)
        .map(Json)
        .map_err(|error| Error::Defect(format!("cannot parse a JSON document: {error}")))
}

impl<T: DeserializeOwned> FromColumn for Json<T> {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Text(text) => parse(utf8(text)?),
            other => Err(wrong_type("JSON", other)),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        parse(row.try_get::<_, RawJson<'_>>(index)?.0)
    }
}

impl FromColumn for JsonText {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
        String::from_sqlite(value).map(Self)
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        Ok(Self(row.try_get::<_, RawJson<'_>>(index)?.0.to_owned()))
    }
}

/// A column of any type. Its value is not converted. Use it to test whether a column is `NULL`.
struct AnyColumn;

impl<'a> FromSql<'a> for AnyColumn {
    fn from_sql(_: &Type, _: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Null => Ok(None),
            other => T::from_sqlite(other).map(Some),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self> {
        match row.try_get::<_, Option<AnyColumn>>(index)? {
            None => Ok(None),
            Some(AnyColumn) => T::from_postgres(row, index).map(Some),
        }
    }
}

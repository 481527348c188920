//! The answer of an operation. It stays a Rust value until a surface writes it as JSON text. Code
//! of this process that calls an operation gets the value itself.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::Page;
use crate::error::{Error, Result};

/// A page of a list, with the total number of items.
#[derive(Debug, Clone)]
pub struct Listing<T> {
    pub items: Vec<T>,
    /// The number of items in the whole list, not only in this page.
    pub total: i64,
}

/// The object `meta.pagination` of a paginated answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pagination {
    limit: u32,
    offset: i64,
    total: i64,
}

impl Pagination {
    /// Returns the number of items in the whole list, not only in this page.
    #[must_use]
    pub fn total(self) -> usize {
        // The count is never negative, so the conversion does not fail.
        usize::try_from(self.total).unwrap_or_default()
    }
}

/// A warning about a field that was accepted, although the caller may not have intended its value
/// (rules: errors#warnings).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The name of the field that the warning is about, as in the request.
    pub field: &'static str,
    /// The text of the warning.
    pub message: String,
}

/// The name of an operation, with the type of its answer. Code of this process that calls the
/// operation by this name gets an answer of that type.
pub struct OperationName<O> {
    id: &'static str,
    answer: PhantomData<fn() -> O>,
}

impl<O> OperationName<O> {
    /// Creates the name of the operation with this id. [`super::Declaration::run_as`] and
    /// [`super::Declaration::pages_as`] ensure that the operation returns an answer of type `O`.
    #[must_use]
    pub const fn new(id: &'static str) -> Self {
        Self {
            id,
            answer: PhantomData,
        }
    }

    #[must_use]
    pub const fn id(self) -> &'static str {
        self.id
    }
}

impl<O> Clone for OperationName<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for OperationName<O> {}

/// A value that an operation returns, of any type that can be written as JSON.
pub trait AnswerValue: Send + Sync {
    /// Writes the value as JSON text.
    fn text(&self) -> serde_json::Result<String>;

    /// Converts the value to a JSON value.
    fn json(&self) -> serde_json::Result<Value>;

    /// Returns the value as `Any`, so that code which knows the concrete type can downcast it.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Serialize + Send + Sync + 'static> AnswerValue for T {
    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    fn json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The data of an answer: a Rust value or JSON text.
#[derive(Clone)]
enum AnswerData {
    /// A value of the type that the operation's function returns.
    Value(Arc<dyn AnswerValue>),
    /// JSON text that the database created.
    Text(String),
}

/// The answer of an operation, before a surface writes it as JSON text.
#[derive(Clone)]
pub struct Answer {
    data: AnswerData,
    /// The pagination; `None` for an answer that is not a paginated list.
    pagination: Option<Pagination>,
    /// Warnings about accepted values that the caller may not intend.
    pub(crate) warnings: Vec<Warning>,
}

/// An answer whose data is written as JSON text.
#[derive(Debug)]
pub struct AnswerText {
    /// The data of the answer, as JSON text.
    pub(crate) data: String,
    pub(crate) pagination: Option<Pagination>,
    pub(crate) warnings: Vec<Warning>,
}

/// An operation's answer as a Rust value that is not written as JSON. Code of this process gets the
/// answer in this form.
#[derive(Clone)]
pub struct LocalValue {
    pub(crate) value: Arc<dyn AnswerValue>,
    pub(crate) pagination: Option<Pagination>,
}

impl Answer {
    /// Creates an answer from a value.
    pub(crate) fn of(value: impl Serialize + Send + Sync + 'static) -> Self {
        Self::with(AnswerData::Value(Arc::new(value)), None)
    }

    /// Creates an answer from JSON text that the database created.
    pub(crate) fn text(data: String) -> Self {
        Self::with(AnswerData::Text(data), None)
    }

    /// Creates an answer from a page of a list.
    pub(crate) fn listing<T>(listing: Listing<T>, page: Page) -> Self
    where
        T: Serialize + Send + Sync + 'static,
    {
        let pagination = Pagination {
            limit: page.limit,
            offset: page.offset,
            total: listing.total,
        };
        Self::with(AnswerData::Value(Arc::new(listing.items)), Some(pagination))
    }

    const fn with(data: AnswerData, pagination: Option<Pagination>) -> Self {
        Self {
            data,
            pagination,
            warnings: Vec::new(),
        }
    }

    /// Returns the answer's value and its pagination; `None` for an answer that is JSON text.
    pub(crate) fn local_value(&self) -> Option<LocalValue> {
        match &self.data {
            AnswerData::Value(value) => Some(LocalValue {
                value: value.clone(),
                pagination: self.pagination,
            }),
            AnswerData::Text(_) => None,
        }
    }

    /// Writes the answer as text.
    pub(crate) fn into_text(self) -> Result<AnswerText> {
        let data = match self.data {
            AnswerData::Value(value) => value.text().map_err(Error::internal)?,
            AnswerData::Text(text) => text,
        };
        Ok(AnswerText {
            data,
            pagination: self.pagination,
            warnings: self.warnings,
        })
    }

    /// Converts the data of the answer to a JSON value.
    pub(crate) fn json(&self) -> Result<Value> {
        match &self.data {
            AnswerData::Value(value) => value.json(),
            AnswerData::Text(text) => serde_json::from_str(text),
        }
        .map_err(Error::internal)
    }

    /// Returns the answer as text. In its data, the value of `field` is replaced by null.
    pub(crate) fn text_without(&self, field: &str) -> Result<AnswerText> {
        let mut data = self.json()?;
        if let Some(value) = data.get_mut(field) {
            *value = Value::Null;
        }
        Ok(AnswerText {
            data: data.to_string(),
            pagination: self.pagination,
            warnings: self.warnings.clone(),
        })
    }
}

impl LocalValue {
    /// Serializes the answer's value to JSON text, for a surface.
    pub(crate) fn into_text(self) -> Result<AnswerText> {
        Ok(AnswerText {
            data: self.value.text().map_err(Error::internal)?,
            pagination: self.pagination,
            warnings: Vec::new(),
        })
    }
}

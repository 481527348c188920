//! Calls of operations by code of this process, such as pages. This code gets the answer as a value
//! of the type that the operation's function returns.

use std::sync::Arc;

use http::HeaderValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::request::Request;
use super::{FinishedCall, Requester, Service, Success, SuccessBody, finish, retry_after};
use crate::error::{Error, Result};
use crate::operation::{Operation, Pagination};

/// The result of an operation that code of this process, such as a page, has called.
pub struct LocalOutcome {
    pub answer: Result<LocalAnswer>,
    /// Seconds to wait before a retry. `None` for a success, and if a retry needs no wait.
    pub retry_after: Option<u64>,
    /// The caller of the request, or `None` if the caller was not identified.
    pub requester: Option<Requester>,
}

/// The answer to a successful call by code of this process.
pub struct LocalAnswer {
    operation: &'static str,
    body: SuccessBody,
    /// The `ETag` of the answer, which identifies the state of its data. `None` if the answer is
    /// not cached.
    pub state: Option<HeaderValue>,
}

/// The envelope of an answer that exists only as text.
#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    pagination: Option<PageMeta>,
}

#[derive(Deserialize)]
struct PageMeta {
    total: usize,
}

/// The data of an answer. If the data is one page of a list, also the number of items in the whole
/// list.
#[derive(Debug, Clone)]
pub struct LocalData<T> {
    pub data: T,
    /// The total number of items, if the operation is a paginated list.
    pub total: Option<usize>,
}

/// Runs a request through every stage of the pipeline. The client is code of this process, such as
/// the console, instead of an HTTP client.
pub async fn call(
    service: &Arc<Service>,
    operation: &'static Operation,
    request: Request,
) -> LocalOutcome {
    let FinishedCall {
        facts, answered, ..
    } = finish(service, operation, request, true).await;
    LocalOutcome {
        retry_after: answered
            .as_ref()
            .err()
            .and_then(|error| retry_after(error, facts.quota.as_ref())),
        answer: answered.map(|success| LocalAnswer::of(operation, success)),
        requester: facts.requester,
    }
}

impl LocalAnswer {
    fn of(operation: &'static Operation, success: Success) -> Self {
        Self {
            operation: operation.id,
            body: success.body,
            state: success.etag,
        }
    }

    /// Returns the answer as a value of the type that the operation's function returns. Fails with
    /// an internal error for another type, and for an answer that exists only as text.
    pub fn value<O: Send + Sync + 'static>(self) -> Result<LocalData<Arc<O>>> {
        match self.body {
            SuccessBody::Value(local) => match local.value.into_any().downcast() {
                Ok(data) => Ok(LocalData {
                    data,
                    total: local.pagination.map(Pagination::total),
                }),
                Err(_) => Err(Error::internal(format!(
                    "the answer of {} is no {}",
                    self.operation,
                    std::any::type_name::<O>()
                ))),
            },
            SuccessBody::Written(_) => Err(Error::internal(format!(
                "the answer of {} is text",
                self.operation
            ))),
        }
    }

    /// Returns the answer as [`LocalAnswer::value`] does. If the answer exists only as text, for
    /// example because it was recorded under an idempotency key, parses the text.
    pub fn value_or_text<O>(self) -> Result<LocalData<Arc<O>>>
    where
        O: DeserializeOwned + Send + Sync + 'static,
    {
        match self.body {
            SuccessBody::Value(_) => self.value(),
            SuccessBody::Written(_) => self.json().map(|LocalData { data, total }| LocalData {
                data: Arc::new(data),
                total,
            }),
        }
    }

    /// Returns the answer as another type with the same JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<LocalData<T>> {
        let parse_error = |error: serde_json::Error| {
            Error::internal(format!(
                "the answer of {} cannot be parsed: {error}",
                self.operation
            ))
        };
        match self.body {
            SuccessBody::Value(local) => {
                let total = local.pagination.map(Pagination::total);
                let text = local.into_text()?.data;
                let data = serde_json::from_str(&text).map_err(parse_error)?;
                Ok(LocalData { data, total })
            }
            SuccessBody::Written(body) => {
                let Envelope { data, meta } =
                    serde_json::from_str(&body.into_text()).map_err(parse_error)?;
                let total = meta.pagination.map(|pagination| pagination.total);
                Ok(LocalData { data, total })
            }
        }
    }
}

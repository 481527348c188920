//! A request by a signed-in member: the member, the requested path and query, the submitted form,
//! and the operations that the page calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use access::people::{self, SignedIn};
use page::{DateFormats, dates_in};

use engine::access::{Identified, Permission};
use engine::error::ErrorKind;
use engine::format;
use engine::operation::{Effect, Needs, OperationName};
use engine::pipeline::{LocalAnswer, LocalData, Service};
use form_urlencoded::Serializer;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;
pub use vestibule_http::browser::first_value;

use super::operation_calls;
use super::refusal::ConsoleRefusal;
use super::screens::Screen;
use super::words::{self, ConsoleWords};

/// The path below which the console is served.
pub const BASE: &str = "/console";
/// `CREATE_TIMEOUT` is the maximum time that a create waits for an earlier request with the same
/// idempotency key. `TRIES` is the maximum number of attempts within that time.
const CREATE_TIMEOUT: Duration = Duration::from_secs(2);
const TRIES: u32 = 10;

/// `WAITS` is the maximum number of times that a call waits because of the rate limit.
/// `LONGEST_WAIT` is the maximum length of one such wait, in seconds.
const WAITS: u32 = 8;
const LONGEST_WAIT: u64 = 2;

/// The fields of a form in the order in which they were sent.
pub type ConsoleFields = Vec<(String, String)>;

/// A request by a signed-in member. Its form has already been read.
pub struct ConsoleRequest {
    pub service: Arc<Service>,
    /// The id of the request.
    pub id: Uuid,
    pub signed_in: SignedIn,
    pub language: &'static str,
    pub texts: &'static ConsoleWords,
    /// The screen that contains the requested page.
    pub screen: &'static Screen,
    /// The path of the request, relative to [`BASE`].
    pub path: String,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The fields of the submitted form. Their line ends are LF.
    pub fields: ConsoleFields,
    pub query: ConsoleFields,
    params: Vec<(String, String)>,
    /// Whether the request may change data. It may if it submits a form with the form token of this
    /// session. If the form has another token, the console shows the form again and changes
    /// nothing.
    may_write: bool,
    caller: Mutex<Arc<Identified>>,
    /// Whether an operation has changed data since the member was last authenticated. The change
    /// may have concerned the member's permissions.
    is_stale: AtomicBool,
}

/// The values from which [`ConsoleRequest::new`] builds a request.
pub struct ConsoleRequestParts {
    pub service: Arc<Service>,
    pub id: Uuid,
    pub signed_in: SignedIn,
    pub screen: &'static Screen,
    pub path: String,
    pub headers: HeaderMap,
    pub fields: ConsoleFields,
    pub query: ConsoleFields,
    pub params: Vec<(String, String)>,
    pub may_write: bool,
}

impl ConsoleRequest {
    pub fn new(parts: ConsoleRequestParts) -> Self {
        let ConsoleRequestParts {
            service,
            id,
            signed_in,
            screen,
            path,
            headers,
            fields,
            query,
            params,
            may_write,
        } = parts;
        let language = people::language(&service, &headers);
        let caller = Mutex::new(Arc::new(signed_in.caller()));
        let is_stale = AtomicBool::new(false);
        let words = words::of(language);
        Self {
            service,
            id,
            signed_in,
            language,
            texts: words,
            screen,
            path,
            headers,
            fields,
            query,
            params,
            may_write,
            caller,
            is_stale,
        }
    }

    /// Returns the id in a path parameter. A text that is not a UUID gets the same refusal as an
    /// unknown id.
    pub fn path_id(&self, name: &str) -> Result<Uuid, ConsoleRefusal> {
        let text = self.path_parameter(name);
        if format::is_uuid(text) {
            text.parse().map_err(|_| ConsoleRefusal::missing())
        } else {
            Err(ConsoleRefusal::missing())
        }
    }

    /// Returns the value of a path parameter. Returns an empty text if there is no such parameter.
    pub fn path_parameter(&self, name: &str) -> &str {
        self.params
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    /// Returns the first value of a query parameter. Returns `None` if that value is blank.
    pub fn query_parameter(&self, name: &str) -> Option<&str> {
        first_value(&self.query, name).filter(|value| !value.trim().is_empty())
    }

    /// Returns the first value of a field of the submitted form.
    pub fn form_value(&self, name: &str) -> Option<&str> {
        first_value(&self.fields, name)
    }

    /// Returns whether the request may change data.
    pub const fn may_write(&self) -> bool {
        self.may_write
    }

    /// Returns the path that browsers request for `path`, which is relative to the console's root.
    /// The result begins with the path of the public URL, if that URL has a path.
    pub fn address(&self, path: &str) -> String {
        people::address(&self.service, &format!("{BASE}{path}"))
    }

    /// Returns the same path as [`Self::address`], with this query.
    pub fn address_with(&self, path: &str, query: &[(&str, &str)]) -> String {
        let query = Serializer::new(String::new()).extend_pairs(query).finish();
        format!("{}?{query}", self.address(path))
    }

    /// Returns whether the member's permissions allow an operation.
    pub fn may(&self, operation: &str) -> bool {
        let Some(operation) = operation_calls::operation(&self.service, operation) else {
            return false;
        };
        operation.needs.check_early(&self.caller().access).is_ok()
    }

    /// Returns whether the member's permissions allow an operation when it is called with this
    /// body.
    pub fn may_send(&self, operation: &str, body: &Value) -> bool {
        let Some(operation) = operation_calls::operation(&self.service, operation) else {
            return false;
        };
        let caller = self.caller();
        match operation.needs {
            Needs::ByBody(check) => check(body, &caller.access).is_ok(),
            needs => needs.check(&caller.access).is_ok(),
        }
    }

    /// Refuses with 403 if the member may not call an operation.
    pub fn require(&self, operation: &str) -> Result<(), ConsoleRefusal> {
        let operation = operation_calls::operation(&self.service, operation)
            .ok_or_else(ConsoleRefusal::broken)?;
        operation
            .needs
            .check_early(&self.caller().access)
            .map_err(|error| ConsoleRefusal::of(&error, self.language))
    }

    /// Returns whether the member has a permission.
    pub fn has_permission(&self, permission: Permission) -> bool {
        self.caller().access.permissions.has(permission)
    }

    /// Returns whether the member may manage the organization and can access all its flats.
    pub fn manages_whole_organization(&self) -> bool {
        self.caller().access.may_act_for_organization()
    }

    /// Returns the formats of dates in the language of the page.
    pub fn dates(&self) -> Arc<DateFormats> {
        dates_in(self.language)
    }

    /// Calls an operation with the member as caller. Returns the answer as the operation's output
    /// type.
    pub async fn read<O: Send + Sync + 'static>(
        &self,
        operation: OperationName<O>,
        arguments: Value,
    ) -> Result<Arc<O>, ConsoleRefusal> {
        self.read_page(operation, arguments)
            .await
            .map(|answer| answer.data)
    }

    /// Calls an operation that returns one page of a list. Returns the answer as
    /// [`ConsoleRequest::read`] does, with the total number of rows.
    pub async fn read_page<O: Send + Sync + 'static>(
        &self,
        operation: OperationName<O>,
        arguments: Value,
    ) -> Result<LocalData<Arc<O>>, ConsoleRefusal> {
        let answer = self.ask_once(operation.id(), arguments, None).await?;
        self.understood(answer.value())
    }

    /// Calls an operation whose answer the database returns as JSON text. Parses the answer as the
    /// operation's output type.
    pub async fn read_text<O: DeserializeOwned>(
        &self,
        operation: OperationName<O>,
        arguments: Value,
    ) -> Result<O, ConsoleRefusal> {
        self.get(operation.id(), arguments).await
    }

    /// Calls an operation with the member as caller. Parses the JSON of the answer as `T`, which
    /// can differ from the operation's output type.
    pub async fn call<T: DeserializeOwned>(
        &self,
        operation: &str,
        arguments: Value,
    ) -> Result<LocalData<T>, ConsoleRefusal> {
        let answer = self.ask_once(operation, arguments, None).await?;
        self.understood(answer.json())
    }

    /// Calls an operation as [`ConsoleRequest::call`] does. Returns only the data of the answer.
    pub async fn get<T: DeserializeOwned>(
        &self,
        operation: &str,
        arguments: Value,
    ) -> Result<T, ConsoleRefusal> {
        self.call(operation, arguments)
            .await
            .map(|answer| answer.data)
    }

    /// Calls an operation that creates something, as [`ConsoleRequest::create`] does. Returns the
    /// answer as the operation's output type. If the same form was sent before, the answer is the
    /// recorded text of the first answer, so this method parses it.
    pub async fn create_as<O: DeserializeOwned + Send + Sync + 'static>(
        &self,
        operation: OperationName<O>,
        arguments: Value,
        key: &str,
    ) -> Result<Arc<O>, ConsoleRefusal> {
        let answer = self.ask_to_create(operation.id(), arguments, key).await?;
        self.understood(answer.value_or_text())
            .map(|answer| answer.data)
    }

    /// Calls an operation that creates an object. Several calls with the same idempotency key
    /// `key` create the object only once.
    pub async fn create<T: DeserializeOwned>(
        &self,
        operation: &str,
        arguments: Value,
        key: &str,
    ) -> Result<T, ConsoleRefusal> {
        let answer = self.ask_to_create(operation, arguments, key).await?;
        self.understood(answer.json()).map(|answer| answer.data)
    }

    async fn ask_to_create(
        &self,
        operation: &str,
        arguments: Value,
        key: &str,
    ) -> Result<LocalAnswer, ConsoleRefusal> {
        let deadline = self.service.clock.elapsed() + CREATE_TIMEOUT;
        for _ in 1..TRIES {
            let answer = self
                .call_with_retries(operation, &arguments, Some(key))
                .await;
            let is_under_way = answer.as_ref().is_err_and(|refusal| refusal.is_in_flight);
            if !is_under_way || self.service.clock.elapsed() >= deadline {
                return answer;
            }
            tokio::time::sleep(CREATE_TIMEOUT / TRIES).await;
        }
        self.call_with_retries(operation, &arguments, Some(key))
            .await
    }

    /// Calls an operation that changes a resource. If the rate limit refuses the call, waits and
    /// repeats it, because one form can need several calls.
    pub async fn change(&self, operation: &str, arguments: Value) -> Result<Value, ConsoleRefusal> {
        self.get_with_retries(operation, &arguments).await
    }

    /// Calls an operation and returns the data of its answer, as [`ConsoleRequest::get`] does. If
    /// the rate limit refuses the call, waits and repeats it.
    pub async fn get_with_retries<T: DeserializeOwned>(
        &self,
        operation: &str,
        arguments: &Value,
    ) -> Result<T, ConsoleRefusal> {
        let answer = self.call_with_retries(operation, arguments, None).await?;
        self.understood(answer.json()).map(|answer| answer.data)
    }

    fn understood<T>(&self, answer: engine::error::Result<T>) -> Result<T, ConsoleRefusal> {
        operation_calls::understood(self.id, answer)
    }

    /// Calls an operation. If the rate limit refuses the call, waits and repeats it. A form with
    /// many changes can exceed the limit.
    async fn call_with_retries(
        &self,
        operation: &str,
        arguments: &Value,
        key: Option<&str>,
    ) -> Result<LocalAnswer, ConsoleRefusal> {
        let mut waits = 0;
        loop {
            match self.ask_once(operation, arguments.clone(), key).await {
                Err(ConsoleRefusal {
                    status: 429,
                    retry_after,
                    ..
                }) if waits < WAITS && retry_after.is_none_or(|wait| wait <= LONGEST_WAIT) => {
                    waits += 1;
                    tokio::time::sleep(Duration::from_secs(retry_after.unwrap_or(1))).await;
                }
                answer => return answer,
            }
        }
    }

    async fn ask_once(
        &self,
        id: &str,
        arguments: Value,
        key: Option<&str>,
    ) -> Result<LocalAnswer, ConsoleRefusal> {
        let Some(operation) = operation_calls::operation(&self.service, id) else {
            tracing::error!(
                operation = id,
                "the console calls an operation that does not exist"
            );
            return Err(ConsoleRefusal::broken());
        };
        if operation.effect == Effect::Write && !self.may_write {
            return Err(ConsoleRefusal {
                message: self.texts.frame.foreign_form_text.to_owned(),
                ..ConsoleRefusal::form_of_another_session()
            });
        }
        if self.is_stale.swap(false, Ordering::Relaxed) {
            self.reauthenticate().await?;
        }
        let answer = operation_calls::call(
            &self.service,
            self.caller(),
            self.id,
            operation,
            arguments,
            key,
            self.language,
        )
        .await;
        if operation.effect == Effect::Write {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Authenticates the member again, because a write can have changed the member's permissions.
    async fn reauthenticate(&self) -> Result<(), ConsoleRefusal> {
        let signed_in = people::signed_in(&self.service, &self.headers, self.id).await?;
        let signed_in = signed_in
            .ok_or_else(|| ConsoleRefusal::of(&ErrorKind::Authentication.into(), self.language))?;
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(signed_in.caller());
        Ok(())
    }

    fn caller(&self) -> Arc<Identified> {
        self.caller
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the idempotency key in the submitted form. Returns a new key if the form has none.
    pub fn form_key(&self) -> String {
        self.form_value("key")
            .map_or_else(|| self.new_key(), str::to_owned)
    }

    /// Returns a new idempotency key for a form. With the key, a form that is sent twice creates
    /// one resource.
    pub fn new_key(&self) -> String {
        self.service
            .app_state
            .ids
            .uuid(self.service.clock.now())
            .to_string()
    }

    /// Returns the idempotency key for one resource that a form creates. `name` differs for each
    /// resource of the same form. If the form has no key, the result contains a new key.
    pub fn key(&self, name: &str) -> String {
        let sent = self
            .form_value("key")
            .filter(|key| format::is_uuid(key))
            .map_or_else(|| self.new_key(), str::to_owned);
        format!("console:{sent}:{name}")
    }
}

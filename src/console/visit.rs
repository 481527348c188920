//! A visit: who is signed in, what was asked for, what was typed; and how it asks operations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::access::{Identified, Permission};
use engine::error::Kind;
use engine::format;
use engine::operation::{Effect, Needs};
use engine::pipeline::Service;
use form_urlencoded::Serializer;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::asking::{self, Answer, Told};
use super::refusal::Refusal;
use super::screens::Screen;
use super::words::{self, Words};
use crate::page::{Dates, dates_in};
use crate::people::{self, SignedIn};

/// Below which path the console is.
pub const BASE: &str = "/console";
/// How long a create waits for another with its key that is under way, and how often it is sent meanwhile at the most.
const PATIENCE: Duration = Duration::from_secs(2);
const TRIES: u32 = 10;

/// How often a change of a form waits for the limit of requests, and how many seconds each time at the most.
const WAITS: u32 = 8;
const LONGEST_WAIT: u64 = 2;

/// Fields in the order in which they were sent.
pub type Fields = Vec<(String, String)>;

/// A request of somebody who is signed in, with its form read.
pub struct Visit {
    pub service: Arc<Service>,
    /// The id of the request.
    pub id: Uuid,
    pub signed_in: SignedIn,
    pub language: &'static str,
    pub words: &'static Words,
    /// The screen that it is about.
    pub screen: &'static Screen,
    /// The path that was asked for, below the base.
    pub path: String,
    /// What the browser sent besides.
    pub headers: HeaderMap,
    /// What was typed, where a form was sent; ends of lines are LF.
    pub fields: Fields,
    pub query: Fields,
    params: Vec<(String, String)>,
    /// Whether a form was sent that the session was given. What it was not given is shown again, and changes nothing.
    may_write: bool,
    caller: Mutex<Arc<Identified>>,
    /// Whether something was written since it was found out who asks.
    is_stale: AtomicBool,
}

/// What a visit is made of.
pub struct Parts {
    pub service: Arc<Service>,
    pub id: Uuid,
    pub signed_in: SignedIn,
    pub screen: &'static Screen,
    pub path: String,
    pub headers: HeaderMap,
    pub fields: Fields,
    pub query: Fields,
    pub params: Vec<(String, String)>,
    pub may_write: bool,
}

impl Visit {
    pub fn new(parts: Parts) -> Self {
        let Parts { service, id, signed_in, screen, path, headers, fields, query, params, may_write } = parts;
        let language = people::language(&service, &headers);
        let caller = Mutex::new(Arc::new(signed_in.caller()));
        let is_stale = AtomicBool::new(false);
        let words = words::of(language);
        Self { service, id, signed_in, language, words, screen, path, headers, fields, query, params, may_write, caller, is_stale }
    }

    /// The id that the path names so; what cannot be one names nothing.
    pub fn named(&self, name: &str) -> Result<Uuid, Refusal> {
        let text = self.param(name);
        if format::is_uuid(text) { text.parse().map_err(|_| Refusal::missing()) } else { Err(Refusal::missing()) }
    }

    /// A parameter of the path.
    pub fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The first value of a name in the query, where it says something.
    pub fn asks(&self, name: &str) -> Option<&str> {
        first(&self.query, name).filter(|value| !value.trim().is_empty())
    }

    /// The first value of a field of the form.
    pub fn sent(&self, name: &str) -> Option<&str> {
        first(&self.fields, name)
    }

    /// Whether a form may change something.
    pub const fn may_write(&self) -> bool {
        self.may_write
    }

    /// The address of a path below the console.
    pub fn address(&self, path: &str) -> String {
        people::address(&self.service, &format!("{BASE}{path}"))
    }

    /// The address of a path below the console with a query.
    pub fn address_with(&self, path: &str, query: &[(&str, &str)]) -> String {
        let query = Serializer::new(String::new()).extend_pairs(query).finish();
        format!("{}?{query}", self.address(path))
    }

    /// Whether the member may ask for an operation, as far as that hangs on them alone.
    pub fn may(&self, operation: &str) -> bool {
        let Some(operation) = asking::operation(&self.service, operation) else { return false };
        operation.needs.check_early(&self.caller().access).is_ok()
    }

    /// Whether the member may ask for an operation that is sent this.
    pub fn may_send(&self, operation: &str, body: &Value) -> bool {
        let Some(operation) = asking::operation(&self.service, operation) else { return false };
        let caller = self.caller();
        match operation.needs {
            Needs::ByBody(check) => check(body, &caller.access).is_ok(),
            needs => needs.check(&caller.access).is_ok(),
        }
    }

    /// 403 for a member who may not ask for an operation.
    pub fn require(&self, operation: &str) -> Result<(), Refusal> {
        let operation = asking::operation(&self.service, operation).ok_or_else(Refusal::broken)?;
        operation.needs.check_early(&self.caller().access).map_err(|error| Refusal::said(&error, self.language))
    }

    /// Whether the member holds a permission.
    pub fn holds(&self, permission: Permission) -> bool {
        self.caller().access.permissions.has(permission)
    }

    /// Whether the member answers for the organization.
    pub fn answers_for_organization(&self) -> bool {
        self.caller().access.answers_for_organization()
    }

    /// How dates are written in the language of the page.
    pub fn dates(&self) -> &'static Dates {
        dates_in(self.language)
    }

    /// What an operation answers the member.
    pub async fn ask<T: DeserializeOwned>(&self, operation: &str, arguments: Value) -> Result<Answer<T>, Refusal> {
        self.ask_once(operation, arguments, None).await?.understood()
    }

    /// The data of an answer.
    pub async fn get<T: DeserializeOwned>(&self, operation: &str, arguments: Value) -> Result<T, Refusal> {
        self.ask(operation, arguments).await.map(|answer| answer.data)
    }

    /// What an operation answers that creates something: once for a key, however often the form that has it is sent.
    pub async fn create<T: DeserializeOwned>(&self, operation: &str, arguments: Value, key: &str) -> Result<T, Refusal> {
        self.ask_to_create(operation, arguments, key).await?.understood().map(|answer| answer.data)
    }

    async fn ask_to_create(&self, operation: &str, arguments: Value, key: &str) -> Result<Told, Refusal> {
        let deadline = self.service.clock.elapsed() + PATIENCE;
        for _ in 1..TRIES {
            let answer = self.ask_patiently(operation, &arguments, Some(key)).await;
            let is_under_way = answer.as_ref().is_err_and(|refusal| refusal.is_in_flight);
            if !is_under_way || self.service.clock.elapsed() >= deadline {
                return answer;
            }
            tokio::time::sleep(PATIENCE / TRIES).await;
        }
        self.ask_patiently(operation, &arguments, Some(key)).await
    }

    /// Changes one of several things by a form.
    pub async fn change(&self, operation: &str, arguments: Value) -> Result<Value, Refusal> {
        self.ask_patiently(operation, &arguments, None).await?.understood().map(|answer| answer.data)
    }

    /// Waits where the limit of requests has a form that takes many of them wait a moment.
    pub async fn ask_patiently(&self, operation: &str, arguments: &Value, key: Option<&str>) -> Result<Told, Refusal> {
        let mut waits = 0;
        loop {
            match self.ask_once(operation, arguments.clone(), key).await {
                Err(Refusal { status: 429, retry_after, .. }) if waits < WAITS && retry_after.is_none_or(|wait| wait <= LONGEST_WAIT) => {
                    waits += 1;
                    tokio::time::sleep(Duration::from_secs(retry_after.unwrap_or(1))).await;
                }
                answer => return answer,
            }
        }
    }

    async fn ask_once(&self, id: &str, arguments: Value, key: Option<&str>) -> Result<Told, Refusal> {
        let Some(operation) = asking::operation(&self.service, id) else {
            tracing::error!(operation = id, "the console asks for an operation that there is not");
            return Err(Refusal::broken());
        };
        if operation.effect == Effect::Write && !self.may_write {
            return Err(Refusal { message: self.words.frame.foreign_form_text.to_owned(), ..Refusal::foreign_form() });
        }
        if self.is_stale.swap(false, Ordering::Relaxed) {
            self.find_out_again().await?;
        }
        let answer = asking::ask(&self.service, self.caller(), self.id, operation, arguments, key, self.language).await;
        if operation.effect == Effect::Write {
            self.is_stale.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Who asks, in the state that what was written has led to.
    async fn find_out_again(&self) -> Result<(), Refusal> {
        let signed_in = people::signed_in(&self.service, &self.headers, self.id).await?;
        let signed_in = signed_in.ok_or_else(|| Refusal::said(&Kind::Authentication.into(), self.language))?;
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(signed_in.caller());
        Ok(())
    }

    fn caller(&self) -> Arc<Identified> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A key for a form, by which it creates what it creates once.
    pub fn new_key(&self) -> String {
        self.service.kit.ids.uuid(self.service.clock.now()).to_string()
    }

    /// The key of the form that was sent, of which several are made by a name; a new one where it has none.
    pub fn key(&self, name: &str) -> String {
        let sent = self.sent("key").filter(|key| format::is_uuid(key)).map_or_else(|| self.new_key(), str::to_owned);
        format!("console:{sent}:{name}")
    }
}

/// The first value of a name.
pub fn first<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

//! Operations. Each is declared once and used three times: for REST routes, MCP tools and the
//! OpenAPI document.

mod answer;
mod arguments;
mod declaration;
mod schema;
mod shape;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use crate::access::{Access, Permission, Revisions};
use crate::app_state::AppState;
use crate::audit::Audits;
use crate::clock::Clock;
pub use crate::context::RaisedRevision;
use crate::context::{Context, System};
use crate::error::{Error, Issue, Result};
use crate::uploads::TakesFile;
pub(crate) use answer::AnswerText;
pub use answer::{Answer, Listing, LocalValue, OperationName, Pagination, Warning};
pub use arguments::Arguments;
pub use declaration::Declaration;
pub use schema::inline_generator;
use schema::json_object;
pub use schema::simplify;
pub use shape::Shape;

/// The interface that an operation belongs to. The interfaces require different credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, AsRefStr)]
#[strum(serialize_all = "snake_case")]
pub enum Surface {
    /// `/api/v1`, for integrators. Credential: API key or access token.
    Public,
    /// `/platform/v1`, for the platform. Credential: the platform key.
    Platform,
    /// `/guest/v1`, for a guest. Credential: the stay token in the path.
    Guest,
}

impl Surface {
    /// Returns the common prefix of the paths of the surface's operations.
    #[must_use]
    pub const fn base(self) -> &'static str {
        match self {
            Self::Public => "/api/v1",
            Self::Platform => "/platform/v1",
            Self::Guest => "/guest/v1",
        }
    }
}

/// The permissions that an operation requires.
#[derive(Clone, Copy)]
pub enum Needs {
    /// No permission is needed, only a valid credential.
    Credential,
    Permission(Permission),
    /// The caller needs all of these permissions.
    Permissions(&'static [Permission]),
    /// A function that checks the permissions that a request with this body needs. If the body
    /// lacks the field on which they depend, the function returns no error, because validation
    /// refuses the body later.
    ByBody(fn(&Value, &Access) -> Result<()>),
}

impl Needs {
    /// Returns 403 if the caller lacks a permission that the operation always requires. Does not
    /// check permissions that depend on the body.
    pub fn check(self, access: &Access) -> Result<()> {
        match self {
            Self::Permission(permission) => access.require(permission),
            Self::Permissions(permissions) => permissions
                .iter()
                .try_for_each(|permission| access.require(*permission)),
            Self::Credential | Self::ByBody(_) => Ok(()),
        }
    }

    /// Returns 403 if the caller lacks a permission that the operation requires for every body. The
    /// console uses this method to find the operations that a member can never call.
    pub fn check_early(self, access: &Access) -> Result<()> {
        match self {
            Self::ByBody(check) => check(&Value::Null, access),
            Self::Credential | Self::Permission(_) | Self::Permissions(_) => self.check(access),
        }
    }
}

/// The effect of an operation on stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads data and changes nothing.
    Read,
    /// Creates, changes or removes data.
    Write,
}

/// The data that cached answers depend on. A cached answer is valid as long as this data is
/// unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheBasis {
    /// The organization's configuration and the records that it refers to. Excludes the records
    /// that change often.
    Configuration,
    /// The configuration and all records.
    Everything,
}

impl CacheBasis {
    /// Returns whether an answer that was created under the revisions `then` is valid under the
    /// revisions `now`.
    #[must_use]
    pub fn is_unchanged(self, then: Revisions, now: Revisions) -> bool {
        then.configuration == now.configuration
            && (self == Self::Configuration || then.stream == now.stream)
    }
}

/// The page limits of a paginated list (rules: limits#pages).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The page size if a request sends no `limit`.
    pub default: u32,
    /// The greatest page size that a request may send.
    pub max: u32,
}

/// The page size of a tool call that sends no `limit`. It is small, because a language model reads
/// every item.
const TOOL_LIMIT: u64 = 20;

/// The keyword in the schema of the field `limit` that marks the field as a page size. A list with
/// [`PageLimits`] has the keyword in its schema. An operation that declares a page size itself must
/// add the keyword to the field.
pub const PAGE_SIZE: &str = "x-page-size";

/// Returns the page size of a tool call that sends no `limit`, from the schema of the operation's
/// input. Returns `None` if the operation has no page size.
#[must_use]
pub fn tool_limit(input: &Value) -> Option<u64> {
    let limit = &input["properties"]["limit"];
    let most = limit["maximum"]
        .as_u64()
        .filter(|_| limit[PAGE_SIZE] == true)?;
    Some(most.min(TOOL_LIMIT))
}

/// A list in the input of an operation. If a request asks for it, the pipeline removes the invalid
/// items of the list. Otherwise one invalid item makes the pipeline refuse the whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilteredList {
    /// The name of the input field that contains the list.
    pub list: &'static str,
    /// The input field whose value tells the pipeline to leave invalid items out of `list`.
    pub field: &'static str,
    /// The value with which `field` asks the pipeline to leave invalid items out.
    pub value: &'static str,
}

impl FilteredList {
    /// The field of the input that contains the removed items: `{index, item, issues}` for each, in
    /// order. Callers cannot send it.
    pub const LEFT_OUT: &str = "leftOut";
}

/// The page that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The maximum number of items to return.
    pub limit: u32,
    /// The number of items to skip.
    pub offset: i64,
}

/// A secret in an answer. It is returned once and never stored in clear text.
#[derive(Clone, Copy)]
pub struct ShownOnce {
    /// The field that contains the secret. It is null in a replayed response.
    pub field: &'static str,
    /// Runs before a recorded response is replayed, after the caller's permissions have been
    /// checked again. Returns an error if the caller has the permissions but may no longer see the
    /// answer, for example because a member lost access to some properties.
    pub check: fn(&Context<'_, '_>) -> Result<()>,
}

type SchemaOf = Box<dyn Fn(&mut SchemaGenerator) -> Schema + Send + Sync>;
type OrganizationWork = dyn Fn(Value) -> Result<Job> + Send + Sync;
/// The function that does an operation's work in the transaction. It has captured the parsed input.
pub type Job = Box<dyn FnOnce(&mut Context<'_, '_>) -> Result<Answer> + Send>;
/// Rules for an input that its schema cannot express. The second argument has the names of the
/// fields that are already invalid.
pub type Rules = dyn Fn(&Value, &[&str]) -> Findings + Send + Sync;
type SystemWork = dyn Fn(&mut System<'_, '_>, Value) -> Result<Answer> + Send + Sync;
/// Prepares a command in an open transaction. Returns the request, which is sent after the
/// transaction is committed.
pub type CommandJob = Box<dyn FnOnce(&mut Context<'_, '_>) -> Result<CommandRequest> + Send>;
/// The request that a command sends to another service.
pub type CommandRequest =
    Box<dyn FnOnce(CommandContext) -> BoxFuture<'static, Result<Answer>> + Send>;
type CommandWork = dyn Fn(Value) -> Result<CommandJob> + Send + Sync;
type ProviderWork =
    dyn Fn(Arc<AppState>, Value) -> BoxFuture<'static, Result<Answer>> + Send + Sync;

/// The issues that rules find in an input.
#[derive(Debug, Default)]
pub struct Findings {
    /// Issues that do not depend on stored data. The request is refused before stored data is read.
    pub sent: Vec<Issue>,
    /// Issues of sent fields that the values of stored fields may resolve. The pipeline reports
    /// these issues only if there are other issues. Otherwise the operation merges the sent fields
    /// into the stored fields, and applies the same rules to the result after its earlier checks.
    pub merged: Vec<Issue>,
}

/// The data from which a command makes its request to another service. No transaction is open while
/// the command does this.
pub struct CommandContext {
    pub app_state: Arc<AppState>,
    pub clock: Clock,
    /// A UUID that is the same for each request of a credential with the same `Idempotency-Key`,
    /// and new for a request without a key.
    pub idempotency_key: Uuid,
}

/// The function of an operation. The variant determines where the function runs.
pub enum Work {
    /// Runs within one organization. The input is converted to its Rust type before the transaction
    /// begins.
    Organization(Box<OrganizationWork>),
    /// Runs outside of any organization. Only operations of the platform interface have this
    /// variant.
    System(Box<SystemWork>),
    /// Calls another service and changes no data. Runs after the transaction that authenticated the
    /// caller is closed.
    Provider(Box<ProviderWork>),
    /// Makes another service carry out a command. If that service refuses the command, the 502 is
    /// recorded under the `Idempotency-Key`, as a success would be.
    Command(Box<CommandWork>),
}

impl Work {
    #[must_use]
    pub const fn calls_another_service(&self) -> bool {
        matches!(self, Self::Provider(_) | Self::Command(_))
    }
}

/// An operation, with all properties that its declaration sets.
pub struct Operation {
    /// The name of the operation in the OpenAPI document, and of its tool.
    pub id: &'static str,
    pub method: Method,
    /// The path below the surface's base, with `{name}` for parameters.
    pub path: &'static str,
    /// The interface that the operation belongs to.
    pub surface: Surface,
    /// The permissions that the operation requires.
    pub needs: Needs,
    /// Whether the operation changes stored data.
    pub effect: Effect,
    /// The HTTP status of a success.
    pub status: u16,
    /// The summary of the operation in the OpenAPI document, in one line.
    pub summary: &'static str,
    /// The description for the OpenAPI document and for language models. It states the effect of
    /// the operation, its result, and when to use another operation instead.
    pub about: &'static str,
    /// Whether the operation is also a tool.
    pub is_tool: bool,
    /// The toolset that contains the tool. Clients can choose toolsets.
    pub toolset: &'static str,
    /// The tool's title for people.
    pub title: &'static str,
    /// Input fields that tool callers cannot send.
    pub not_for_tools: &'static [&'static str],
    /// Whether the operation may destroy data.
    pub is_destructive: bool,
    /// Whether a second run with the same input has no additional effect.
    pub is_idempotent: bool,
    /// Messages for fields that clients send although the operation does not accept them. Each
    /// entry is the end of the field's path, without list indices, and the message.
    pub field_hints: &'static [(&'static str, &'static str)],
    /// The data that the operation's cached answers depend on; `None` if answers are not cached.
    pub cached: Option<CacheBasis>,
    /// Whether a database replica may answer the operation.
    pub may_lag: bool,
    /// The revision that the operation raises, if it is a write.
    pub raised_revision: RaisedRevision,
    /// The page limits; `None` if the operation is not a paginated list.
    pub paging: Option<PageLimits>,
    /// Whether the operation stores JSON as it was sent, and therefore refuses numbers that would
    /// lose digits.
    pub keeps_numbers: bool,
    /// The list from which the pipeline removes invalid items if the caller asks for it; `None` if
    /// one invalid item always makes the pipeline refuse the whole request.
    pub filtered_list: Option<FilteredList>,
    /// The file that the operation accepts, as part of a multipart body; `None` if it accepts none.
    pub file: Option<TakesFile>,
    /// The maximum size of the body in bytes.
    pub body_limit: usize,
    /// The time limit of the operation's work.
    pub timeout: Duration,
    /// The audit entry of the write; `None` if it is not audited.
    pub audits: Option<Audits>,
    /// The secret that the answer shows only once; `None` if the answer contains no secret.
    pub shows_once: Option<ShownOnce>,
    /// Returns whether the service offers the operation as a tool, which depends on the extensions
    /// of the application state. `None` means that the service always offers the operation.
    pub is_offered: Option<fn(&AppState) -> bool>,
    /// Rules for the input that its schema cannot express; `None` if there are none.
    pub rules: Option<Box<Rules>>,
    /// Whether the operation's function returns JSON text instead of a value.
    pub answers_text: bool,
    /// The operation's function, and the kind of work that it does.
    pub work: Work,
    input: SchemaOf,
    output: SchemaOf,
    shape: OnceLock<Shape>,
}

/// The maximum size of the body of an ordinary request: 1 MiB.
const BODY_LIMIT: usize = 1 << 20;

impl Operation {
    /// Begins the declaration of a public operation.
    #[must_use]
    pub fn public(
        id: &'static str,
        method: Method,
        path: &'static str,
        needs: Needs,
    ) -> Declaration {
        let is_tool = true;
        Declaration(Self {
            is_tool,
            ..Self::blank(id, Surface::Public, method, path, needs)
        })
    }

    /// Begins the declaration of an operation of the platform interface.
    #[must_use]
    pub fn platform(id: &'static str, method: Method, path: &'static str) -> Declaration {
        Declaration(Self::blank(
            id,
            Surface::Platform,
            method,
            path,
            Needs::Credential,
        ))
    }

    /// Begins the declaration of an operation of the guest interface.
    #[must_use]
    pub fn guest(id: &'static str, method: Method, path: &'static str) -> Declaration {
        Declaration(Self::blank(
            id,
            Surface::Guest,
            method,
            path,
            Needs::Credential,
        ))
    }

    fn blank(
        id: &'static str,
        surface: Surface,
        method: Method,
        path: &'static str,
        needs: Needs,
    ) -> Self {
        let effect = if method == Method::GET {
            Effect::Read
        } else {
            Effect::Write
        };
        Self {
            id,
            path,
            surface,
            needs,
            effect,
            status: 200,
            summary: "",
            about: "",
            is_tool: false,
            toolset: "",
            title: "",
            not_for_tools: &[],
            is_idempotent: method != Method::POST,
            field_hints: &[],
            is_destructive: method == Method::DELETE
                || method == Method::PATCH
                || method == Method::PUT,
            cached: None,
            may_lag: false,
            raised_revision: RaisedRevision::Configuration,
            paging: None,
            keeps_numbers: false,
            filtered_list: None,
            file: None,
            body_limit: BODY_LIMIT,
            timeout: store::WORK_LIMIT,
            audits: None,
            shows_once: None,
            rules: None,
            is_offered: None,
            answers_text: false,
            work: Work::System(Box::new(|_, _| {
                Err(Error::internal(
                    "the operation was declared without a function",
                ))
            })),
            input: Box::new(|_| json_object()),
            output: Box::new(|_| json_object()),
            shape: OnceLock::new(),
            method,
        }
    }

    /// Returns whether an input field is a path parameter.
    #[must_use]
    pub fn is_path_field(&self, name: &str) -> bool {
        self.path.split('/').any(|part| {
            part.strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'))
                == Some(name)
        })
    }

    /// Returns whether fields outside of the path are sent in the body. Otherwise they are sent in
    /// the query.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PUT || self.method == Method::PATCH
    }

    /// Returns the JSON Schema of the input: fields of path, query and body together.
    #[must_use]
    pub fn input_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = (self.input)(generator).to_value();
        simplify(&mut schema);
        if schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        if let (Some(limits), Some(Value::Object(properties))) =
            (self.paging, schema.get_mut("properties"))
        {
            let limit = json!({
                "type": "integer",
                "minimum": 1,
                "maximum": limits.max,
                "default": limits.default,
                PAGE_SIZE: true,
                "description": "Items of the page at the most; a number out of range is refused.",
            });
            let offset = json!({
                "type": "integer", "minimum": 0, "maximum": i64::MAX, "default": 0,
                "description": "Items to pass over; beyond the last one the page is empty.",
            });
            properties.insert("limit".into(), limit);
            properties.insert("offset".into(), offset);
        }
        schema
    }

    /// Sets a published schema of the answer that is more precise than the schema of its Rust type.
    #[must_use]
    pub fn with_output_schema(
        mut self,
        schema: impl Fn() -> Schema + Send + Sync + 'static,
    ) -> Self {
        self.output = Box::new(move |_| schema());
        self
    }

    /// Returns the JSON Schema of `data` in the operation's response.
    #[must_use]
    pub fn output_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = (self.output)(generator).to_value();
        simplify(&mut schema);
        schema
    }

    /// Returns the compiled input schema that the pipeline validates against. It is compiled when
    /// it is first used.
    pub fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| Shape::of(self))
    }

    /// Returns the issues that the schema finds in an input that code of this process has created.
    #[must_use]
    pub fn issues_of(&self, input: &Value) -> Vec<Issue> {
        self.shape().issues_of(self, input)
    }

    /// Returns the names of the fields of the answer. Validation uses them to distinguish a
    /// read-only field from an unknown one.
    #[must_use]
    pub fn answer_fields(&self) -> BTreeSet<String> {
        let schema = self.output_schema(&mut inline_generator());
        schema["properties"]
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default()
    }
}

impl Findings {
    /// Creates findings from issues that do not depend on stored data.
    pub fn sent(issues: impl IntoIterator<Item = Issue>) -> Self {
        Self {
            sent: issues.into_iter().collect(),
            merged: Vec::new(),
        }
    }

    /// Creates findings from the issues of a merged object. The merged object is the stored object
    /// after the sent fields have replaced its fields.
    pub fn merged(issues: impl IntoIterator<Item = Issue>) -> Self {
        Self {
            sent: Vec::new(),
            merged: issues.into_iter().collect(),
        }
    }
}

/// An input without fields.
#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// The input of an operation that needs only the id in its path.
#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ById {
    /// Id of the resource. Lists and create operations return it.
    pub id: uuid::Uuid,
}

/// A JSON object with any fields, such as the data of a record, whose fields the platform defines.
pub type Object = Map<String, Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_size_has_the_default_of_tools() {
        let input = |limit: Value| json!({ "properties": { "limit": limit } });
        let page_size = |max: u64| input(json!({ "maximum": max, "x-page-size": true }));
        assert_eq!(tool_limit(&page_size(100)), Some(20));
        assert_eq!(tool_limit(&page_size(10)), Some(10));
        assert_eq!(tool_limit(&input(json!({ "maximum": 100 }))), None);
    }
}

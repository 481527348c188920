//! What an operation is: declared once, read three ways (REST routes, MCP tools, the OpenAPI document).

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
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{Ask, Statement, Value as Bound};
use strum::{AsRefStr, EnumString, VariantArray};
use uuid::Uuid;

use crate::access::{Access, Permission, Revisions};
use crate::audit::{self, Audits};
pub use crate::context::Touches;
use crate::context::{Context, System};
use crate::error::{Error, Issue, Result};
use crate::kit::Kit;
use crate::uploads::TakesFile;
pub use arguments::Arguments;
pub use declaration::Declaration;
pub use schema::inline_generator;
use schema::json_object;
pub(crate) use schema::tidy;
pub use shape::Shape;

/// The interface an operation belongs to; each has its own credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, EnumString, AsRefStr)]
#[strum(serialize_all = "snake_case")]
pub enum Surface {
    /// `/api/v1`, for integrators: API key or access token.
    Public,
    /// `/platform/v1`, for the platform around us: the platform key.
    Platform,
    /// `/guest/v1`, for a guest: the stay token in the path.
    Guest,
}

impl Surface {
    /// The path every operation of the surface begins with.
    #[must_use]
    pub const fn base(self) -> &'static str {
        match self {
            Self::Public => "/api/v1",
            Self::Platform => "/platform/v1",
            Self::Guest => "/guest/v1",
        }
    }
}

/// What a caller must hold.
#[derive(Clone, Copy)]
pub enum Needs {
    /// A valid credential only.
    Credential,
    /// One permission.
    Permission(Permission),
    /// Each of these.
    Permissions(&'static [Permission]),
    /// What the body decides; a body that names nothing known is let through, for its validation to say so.
    ByBody(fn(&Value, &Access) -> Result<()>),
}

impl Needs {
    /// 403 for a caller who lacks what can be told without a body.
    pub fn check(self, access: &Access) -> Result<()> {
        match self {
            Self::Permission(permission) => access.require(permission),
            Self::Permissions(permissions) => permissions.iter().try_for_each(|permission| access.require(*permission)),
            Self::Credential | Self::ByBody(_) => Ok(()),
        }
    }

    /// 403 for a caller who lacks what any body asks for: by which it is told beforehand who need not try.
    pub fn check_early(self, access: &Access) -> Result<()> {
        match self {
            Self::ByBody(check) => check(&Value::Null, access),
            Self::Credential | Self::Permission(_) | Self::Permissions(_) => self.check(access),
        }
    }
}

/// What running an operation does to the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Read,
    /// Creates, changes or removes something.
    Write,
}

/// What answers that are kept are made of; they are given again as long as that is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// What the organization configures, and the records that refers to: not those that come and go.
    Configuration,
    /// Any record as well.
    Everything,
}

impl Basis {
    /// Whether an answer of some revisions still holds.
    #[must_use]
    pub fn is_unchanged(self, then: Revisions, now: Revisions) -> bool {
        then.configuration == now.configuration && (self == Self::Configuration || then.stream == now.stream)
    }
}

/// The page limits of a paginated list (spec: Pagination).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// The limit where none is given.
    pub default: u32,
    /// The greatest limit that may be asked for.
    pub max: u32,
}

/// The page asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many items at the most.
    pub limit: u32,
    /// How many to pass over.
    pub offset: i64,
}

/// A page of a list, and how many items there are in all.
#[derive(Debug, Clone)]
pub struct Listing<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Matches before paging.
    pub total: i64,
}

/// `meta.pagination`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pagination {
    limit: u32,
    offset: i64,
    total: i64,
}

/// What an operation answers: `data` as JSON text, and the pagination of a list.
#[derive(Debug)]
pub struct Answer {
    /// The payload, serialized.
    pub data: String,
    /// For paginated lists.
    pub pagination: Option<Pagination>,
}

impl Answer {
    fn new(data: &impl Serialize) -> Result<Self> {
        Ok(Self { data: serde_json::to_string(data).map_err(Error::internal)?, pagination: None })
    }

    fn listing<T: Serialize>(listing: &Listing<T>, page: Page) -> Result<Self> {
        let pagination = Pagination { limit: page.limit, offset: page.offset, total: listing.total };
        Ok(Self { pagination: Some(pagination), ..Self::new(&listing.items)? })
    }

    /// The same with nothing in a field.
    pub(crate) fn without(&self, field: &str) -> Result<Self> {
        let mut data: Value = serde_json::from_str(&self.data).map_err(Error::internal)?;
        if let Some(value) = data.get_mut(field) {
            *value = Value::Null;
        }
        Ok(Self { data: data.to_string(), pagination: self.pagination })
    }
}

/// A secret in an answer, which nothing else ever shows and nobody keeps.
#[derive(Clone, Copy)]
pub struct ShownOnce {
    /// The field that has it. Where the answer is given again that is null.
    pub field: &'static str,
    /// Refuses who may have the answer no more, by what is more than permissions.
    pub check: fn(&Context<'_, '_>) -> Result<()>,
}

type SchemaOf = Box<dyn Fn(&mut SchemaGenerator) -> Schema + Send + Sync>;
type TenantWork = dyn Fn(Value) -> Result<Job> + Send + Sync;
/// What an operation does with an input that is its own already: what is left to do in the transaction.
pub type Job = Box<dyn FnOnce(&mut Context<'_, '_>) -> Result<Answer> + Send>;
/// The rules over an input: what is wrong with it beyond its schema, given the names of the fields that are wrong already.
pub type Rules = dyn Fn(&Value, &[&str]) -> Findings + Send + Sync;
/// What a write asks of its organization before anything else, given its input.
pub type Foresight = dyn Fn(&Value) -> Vec<Foreseen> + Send + Sync;
type SystemWork = dyn Fn(&mut System<'_, '_>, Value) -> Result<Answer> + Send + Sync;
type ProviderWork = dyn Fn(Arc<Kit>, Value) -> BoxFuture<'static, Result<Answer>> + Send + Sync;

/// What the rules over an input find wrong with it.
#[derive(Debug, Default)]
pub struct Findings {
    /// Wrong whatever is stored: refused before anything is looked up.
    pub sent: Vec<Issue>,
    /// Wrong as far as what is sent shows. Said of a request that is refused anyway; otherwise the function judges it, by the
    /// same rules on the merged state, after whatever it refuses first.
    pub merged: Vec<Issue>,
}

/// Something that is going to be asked of an organization, which is `?1`.
pub struct Foreseen {
    statement: &'static Statement,
    params: Vec<Bound>,
}

impl Foreseen {
    /// The rows of a query.
    #[must_use]
    pub fn new<const N: usize>(statement: &'static Statement, params: [Bound; N]) -> Self {
        Self { statement, params: params.into() }
    }

    /// What is asked of a change of the thing that an input names by its `id`: it is read for the audit log, as it was, and then by the
    /// function.
    pub fn of_its_thing(input: &Value, ask: fn(Uuid) -> Self) -> impl Iterator<Item = Self> {
        audit::id(input, "id").into_iter().flat_map(move |id| [ask(id), ask(id)])
    }

    fn ask(self, organization: Uuid) -> Ask {
        let params: Vec<_> = std::iter::once(Bound::Uuid(organization)).chain(self.params).collect();
        Ask::rows(self.statement, params)
    }
}

/// The function behind an operation.
pub enum Work {
    /// Runs within one organization. Reading the input as its type is done before the transaction.
    Tenant(Box<TenantWork>),
    /// Belongs to no organization: platform only.
    System(Box<SystemWork>),
    /// Asks another service and touches no state. Runs once the transaction that let its caller in is closed.
    Provider(Box<ProviderWork>),
}

/// One operation.
pub struct Operation {
    /// The spec's name, and the tool's.
    pub id: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// Below the surface's base, with `{name}` for parameters.
    pub path: &'static str,
    /// Where it is found.
    pub surface: Surface,
    /// What a caller must hold.
    pub needs: Needs,
    /// Whether it changes anything.
    pub effect: Effect,
    /// The status of a success.
    pub status: u16,
    /// One line for the document.
    pub summary: &'static str,
    /// What it does, when to use it rather than another, what comes back: for the document and for language models.
    pub about: &'static str,
    /// Whether the tool interface has it.
    pub is_tool: bool,
    /// The set of tools that it belongs to.
    pub toolset: &'static str,
    /// What people are told that the tool is called.
    pub title: &'static str,
    /// Input fields that tool callers cannot send.
    pub not_for_tools: &'static [&'static str],
    /// Whether running it may lose something a caller wanted kept.
    pub is_destructive: bool,
    /// Whether running it a second time with the same input changes nothing more.
    pub is_idempotent: bool,
    /// What is said of fields that it does not take and that are sent all the same: by the end of their path, lists passed over.
    pub misnomers: &'static [(&'static str, &'static str)],
    /// What its answers are made of, where they are kept.
    pub kept: Option<Basis>,
    /// Whether a replica may answer it.
    pub may_lag: bool,
    /// What it changes, where it does.
    pub touches: Touches,
    /// For paginated lists.
    pub paging: Option<PageLimits>,
    /// Whether it keeps what is sent for somebody else, numbers past double precision included.
    pub keeps_numbers: bool,
    /// The file that comes with it, where one does: its body is a form of several parts then.
    pub file: Option<TakesFile>,
    /// The greatest body in bytes.
    pub body_limit: usize,
    /// How long it may take.
    pub patience: Duration,
    /// What is told of its write.
    pub audits: Option<Audits>,
    /// The secret in its answer that is shown once, where there is one.
    pub shows_once: Option<ShownOnce>,
    /// What the input has to keep to besides its schema.
    pub rules: Option<Box<Rules>>,
    /// What it asks first, where it is a write that says so.
    pub foresees: Option<Box<Foresight>>,
    /// The function.
    pub work: Work,
    input: SchemaOf,
    output: SchemaOf,
    shape: OnceLock<Shape>,
}

/// 1 MiB: the greatest body of an ordinary request.
const BODY_LIMIT: usize = 1 << 20;

impl Operation {
    /// Begins the declaration of a public operation.
    #[must_use]
    pub fn public(id: &'static str, method: Method, path: &'static str, needs: Needs) -> Declaration {
        let is_tool = true;
        Declaration(Self { is_tool, ..Self::blank(id, Surface::Public, method, path, needs) })
    }

    /// Begins the declaration of an operation of the platform interface.
    #[must_use]
    pub fn platform(id: &'static str, method: Method, path: &'static str) -> Declaration {
        Declaration(Self::blank(id, Surface::Platform, method, path, Needs::Credential))
    }

    /// Begins the declaration of an operation of the guest interface.
    #[must_use]
    pub fn guest(id: &'static str, method: Method, path: &'static str) -> Declaration {
        Declaration(Self::blank(id, Surface::Guest, method, path, Needs::Credential))
    }

    fn blank(id: &'static str, surface: Surface, method: Method, path: &'static str, needs: Needs) -> Self {
        let effect = if method == Method::GET { Effect::Read } else { Effect::Write };
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
            misnomers: &[],
            is_destructive: method == Method::DELETE || method == Method::PATCH || method == Method::PUT,
            kept: None,
            may_lag: false,
            touches: Touches::Configuration,
            paging: None,
            keeps_numbers: false,
            file: None,
            body_limit: BODY_LIMIT,
            patience: store::WORK_LIMIT,
            audits: None,
            shows_once: None,
            rules: None,
            foresees: None,
            work: Work::System(Box::new(|_, _| Err(Error::internal("declared without a function")))),
            input: Box::new(|_| json_object()),
            output: Box::new(|_| json_object()),
            shape: OnceLock::new(),
            method,
        }
    }

    /// What it asks of an organization first.
    pub(crate) fn foreseen(&self, organization: Uuid, input: &Value) -> Vec<Ask> {
        let foreseen = self.foresees.as_ref().map(|foresees| foresees(input));
        foreseen.into_iter().flatten().map(|foreseen| foreseen.ask(organization)).collect()
    }

    /// Whether a field of the input travels in the path.
    #[must_use]
    pub fn is_path_field(&self, name: &str) -> bool {
        self.path.split('/').any(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) == Some(name))
    }

    /// Whether fields that are not in the path travel in the body, rather than in the query.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.method == Method::POST || self.method == Method::PUT || self.method == Method::PATCH
    }

    /// The JSON Schema of the input: path, query and body fields side by side.
    #[must_use]
    pub fn input_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = (self.input)(generator).to_value();
        tidy(&mut schema);
        if schema.get("properties").is_none() {
            schema["properties"] = json!({});
        }
        if let (Some(limits), Some(Value::Object(properties))) = (self.paging, schema.get_mut("properties")) {
            let limit = json!({
                "type": "integer", "minimum": 1, "maximum": limits.max, "default": limits.default,
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

    /// Publishes a closer schema of the answer than its type gives.
    #[must_use]
    pub fn answering(mut self, schema: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        self.output = Box::new(move |_| schema());
        self
    }

    /// The JSON Schema of `data`.
    #[must_use]
    pub fn output_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = (self.output)(generator).to_value();
        tidy(&mut schema);
        schema
    }

    /// The input as the pipeline validates it; compiled when first needed.
    pub fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| Shape::of(self))
    }

    /// Names of the fields of the answer, for telling a read-only field from an unknown one.
    #[must_use]
    pub fn answer_fields(&self) -> BTreeSet<String> {
        let schema = self.output_schema(&mut inline_generator());
        schema["properties"].as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }
}

impl Findings {
    /// What is wrong whatever is stored.
    pub fn sent(issues: impl IntoIterator<Item = Issue>) -> Self {
        Self { sent: issues.into_iter().collect(), merged: Vec::new() }
    }

    /// What is wrong as far as what is sent shows.
    pub fn merged(issues: impl IntoIterator<Item = Issue>) -> Self {
        Self { sent: Vec::new(), merged: issues.into_iter().collect() }
    }
}

/// No fields at all.
#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A thing named by its id in the path.
#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ById {
    /// Id of the resource that is meant, as lists and creates give it.
    pub id: uuid::Uuid,
}

/// Any JSON object: a shape that the platform owns.
pub type Object = Map<String, Value>;

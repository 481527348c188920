//! The builder of an operation. The methods of the builder set the properties of the operation. The
//! method that is called last, such as `run`, sets the function of the operation and returns the
//! operation.

use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Answer, CacheBasis, CommandContext, Effect, FilteredList, Findings, Listing, Operation,
    OperationName, Page, PageLimits, RaisedRevision, ShownOnce, Work,
};
use crate::app_state::AppState;
use crate::audit::Audits;
use crate::context::{Context, System};
use crate::error::{Error, Result};
use crate::uploads::TakesFile;

/// An operation whose function is not set yet.
pub struct Declaration(pub(super) Operation);

impl Declaration {
    /// Sets the summary: one line for the OpenAPI document.
    #[must_use]
    pub fn summary(mut self, summary: &'static str) -> Self {
        self.0.summary = summary;
        self
    }

    /// Sets the toolset, the title and the description of the tool. The description must be
    /// complete for a language model that does not know the product. The OpenAPI document contains
    /// the same description. If there is no summary, the title becomes the summary.
    #[must_use]
    pub fn tool(mut self, toolset: &'static str, title: &'static str, about: &'static str) -> Self {
        (self.0.toolset, self.0.title, self.0.about) = (toolset, title, about);
        if self.0.summary.is_empty() {
            self.0.summary = title;
        }
        self
    }

    /// Sets messages for fields that clients send although the operation does not accept them. Each
    /// entry has the end of the field's path without list indices, such as `items.text`, and the
    /// message.
    #[must_use]
    pub fn field_hints(mut self, fields: &'static [(&'static str, &'static str)]) -> Self {
        self.0.field_hints = fields;
        self
    }

    /// Sets the status of a success to 201.
    #[must_use]
    pub fn creates(mut self) -> Self {
        self.0.status = 201;
        self
    }

    /// Removes the operation from the tools.
    #[must_use]
    pub fn rest_only(mut self) -> Self {
        self.0.is_tool = false;
        self
    }

    /// Removes fields from the tool's arguments.
    #[must_use]
    pub fn not_for_tools(mut self, fields: &'static [&'static str]) -> Self {
        self.0.not_for_tools = fields;
        self
    }

    /// Declares that a POST may destroy data.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.0.is_destructive = true;
        self
    }

    /// Declares that a second POST with the same input has no additional effect.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.0.is_idempotent = true;
        self
    }

    /// Allows caching of the operation's answers. They may depend only on the data that `basis`
    /// names. An answer that depends on the time must limit its validity
    /// ([`crate::context::Context::limit_validity`]).
    #[must_use]
    pub fn cached(mut self, basis: CacheBasis) -> Self {
        self.0.cached = Some(basis);
        self
    }

    /// Allows a database replica to answer. Data that is written without the organization's lock
    /// may then be outdated.
    #[must_use]
    pub fn may_lag(mut self) -> Self {
        self.0.may_lag = true;
        self
    }

    /// Declares that a POST operation only reads. Such an operation is a POST because its input is
    /// long.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.0.effect = Effect::Read;
        self
    }

    /// Declares that the operation does not change the configuration. Its write raises only the
    /// stream revision.
    #[must_use]
    pub fn touches_stream(mut self) -> Self {
        self.0.raised_revision = RaisedRevision::Stream;
        self
    }

    /// Declares that the operation writes an audit entry, and how the entry is built.
    #[must_use]
    pub fn audited(mut self, audits: Audits) -> Self {
        self.0.audits = Some(audits);
        self
    }

    /// Declares a field of the answer that contains a secret. Only the first response contains the
    /// secret; the response that is recorded under an `Idempotency-Key` lacks it. Before a replay,
    /// `check` decides again whether the caller may see the response.
    #[must_use]
    pub fn shows_once(
        mut self,
        field: &'static str,
        check: fn(&Context<'_, '_>) -> Result<()>,
    ) -> Self {
        self.0.shows_once = Some(ShownOnce { field, check });
        self
    }

    /// Sets the maximum size of the body in bytes, and the time limit of the work.
    #[must_use]
    pub fn bulk(mut self, body_limit: usize, timeout: Duration) -> Self {
        self.0.body_limit = body_limit;
        self.0.timeout = timeout;
        self
    }

    /// Accepts a file as one part of a `multipart/form-data` body. The other parts are texts. The
    /// file is stored before the function runs, and the function receives it as
    /// [`crate::uploads::UploadedFile`]. If the function refuses the request, the file is deleted.
    #[must_use]
    pub fn takes_file(mut self, file: TakesFile) -> Self {
        self.0.file = Some(file);
        self.0.is_tool = false;
        self
    }

    /// Hides the operation's tool if `is_offered` returns false, for example because the service
    /// has no extension that the operation needs.
    #[must_use]
    pub fn offered_where(mut self, is_offered: fn(&AppState) -> bool) -> Self {
        self.0.is_offered = Some(is_offered);
        self
    }

    /// Declares that the input is stored as it was sent. A number that neither a 64-bit integer nor
    /// a double can represent is then refused as an issue of its field.
    #[must_use]
    pub fn keeps_numbers(mut self) -> Self {
        self.0.keeps_numbers = true;
        self
    }

    /// If the caller sends `value` in `field`, the pipeline removes the invalid items of `list`
    /// from the input. The operation's function receives the removed items in the field
    /// [`FilteredList::LEFT_OUT`].
    #[must_use]
    pub fn filters_invalid_items(
        mut self,
        list: &'static str,
        field: &'static str,
        value: &'static str,
    ) -> Self {
        self.0.filtered_list = Some(FilteredList { list, field, value });
        self
    }

    /// Adds rules that JSON Schema cannot express, on one field or on several fields together. The
    /// rules are pure functions. They run even if the schema finds issues, so that the client
    /// receives all issues at once. Their arguments are the input without the failing fields, and
    /// the names of those fields. The rules must not report a second issue about a failing field.
    #[must_use]
    pub fn rules<I: DeserializeOwned>(
        mut self,
        rules: impl Fn(I, &[&str]) -> Findings + Send + Sync + 'static,
    ) -> Self {
        self.0.rules = Some(Box::new(move |input, failing| {
            I::deserialize(input)
                .map(|input| rules(input, failing))
                .unwrap_or_default()
        }));
        self
    }

    /// Sets a function that runs within the caller's organization.
    pub fn run<I, O>(
        mut self,
        work: impl Fn(&mut Context<'_, '_>, I) -> Result<O> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.work = in_organization(move |context, input| Ok(Answer::of(work(context, input)?)));
        self.0
    }

    /// Sets the operation's function as [`Declaration::run`] does, for an operation that other code
    /// of this process calls by `name`. The compiler refuses a function whose answer type differs
    /// from that of `name`.
    pub fn run_as<I, O>(
        self,
        name: OperationName<O>,
        work: impl Fn(&mut Context<'_, '_>, I) -> Result<O> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.named(name.id()).run(work)
    }

    /// Returns the declaration. Panics if the operation's id differs from `name`, because a call by
    /// that name would not find the operation.
    fn named(self, name: &str) -> Self {
        assert_eq!(
            self.0.id, name,
            "an operation is declared under another name than it is called by"
        );
        self
    }

    /// Sets a function that runs within the caller's organization and returns JSON text of the type
    /// `O`. Use it for lists whose items are stored as JSON text and joined by the database.
    pub fn run_text<I, O>(
        mut self,
        work: impl Fn(&mut Context<'_, '_>, I) -> Result<String> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.answers_text = true;
        self.0.work =
            in_organization(move |context, input| Ok(Answer::text(work(context, input)?)));
        self.0
    }

    /// Sets the operation's function as [`Declaration::run_text`] does, for an operation that other
    /// code of this process calls by `name`.
    pub fn run_text_as<I, O>(
        self,
        name: OperationName<O>,
        work: impl Fn(&mut Context<'_, '_>, I) -> Result<String> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: JsonSchema + 'static,
    {
        self.named(name.id()).run_text::<I, O>(work)
    }

    /// Sets a function that runs within the caller's organization and returns a page of a list.
    pub fn pages<I, O>(
        mut self,
        limits: PageLimits,
        work: impl Fn(&mut Context<'_, '_>, I, Page) -> Result<Listing<O>> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<Vec<O>>);
        self.0.paging = Some(limits);
        let work = Arc::new(work);
        self.0.work = Work::Organization(Box::new(move |mut input| {
            let page = page(&mut input, limits);
            let (work, input) = (work.clone(), typed(input)?);
            Ok(Box::new(move |context| {
                Ok(Answer::listing(work(context, input, page)?, page))
            }))
        }));
        self.0
    }

    /// Sets the function as [`Declaration::pages`] does. Code of this process calls the operation
    /// by its `OperationName`.
    pub fn pages_as<I, O>(
        self,
        name: OperationName<Vec<O>>,
        limits: PageLimits,
        work: impl Fn(&mut Context<'_, '_>, I, Page) -> Result<Listing<O>> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.named(name.id()).pages(limits, work)
    }

    /// Sets a function that runs outside of any organization.
    pub fn run_system<I, O>(
        mut self,
        work: impl Fn(&mut System<'_, '_>, I) -> Result<O> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.work = Work::System(Box::new(move |system, input| {
            Ok(Answer::of(work(system, typed(input)?)?))
        }));
        self.0
    }

    /// Sets a function that runs outside of any organization and returns a page of a list.
    pub fn pages_system<I, O>(
        mut self,
        limits: PageLimits,
        work: impl Fn(&mut System<'_, '_>, I, Page) -> Result<Listing<O>> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<Vec<O>>);
        self.0.paging = Some(limits);
        self.0.work = Work::System(Box::new(move |system, mut input| {
            let page = page(&mut input, limits);
            Ok(Answer::listing(work(system, typed(input)?, page)?, page))
        }));
        self.0
    }

    /// Sets a function that calls another service and writes no data. The function runs outside of
    /// any transaction.
    pub fn calls_provider<I, O, F>(
        mut self,
        work: impl Fn(Arc<AppState>, I) -> F + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
        F: Future<Output = Result<O>> + Send + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.effect = Effect::Read;
        self.0.work = Work::Provider(Box::new(move |service, input| {
            let asking = typed(input).map(|input| work(service, input));
            Box::pin(async move { Ok(Answer::of(asking?.await?)) })
        }));
        self.0
    }

    /// Sets the operation's function as [`Declaration::calls_provider`] does, and sets its name.
    /// Code of this process calls the operation by this name.
    pub fn asks_as<I, O, F>(
        self,
        name: OperationName<O>,
        work: impl Fn(Arc<AppState>, I) -> F + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
        F: Future<Output = Result<O>> + Send + 'static,
    {
        self.named(name.id()).calls_provider(work)
    }

    /// Sets two functions by which another service carries out a command. `prepare` reads in a
    /// transaction and refuses invalid commands. After that transaction is committed, `ask` sends
    /// the request to the other service. If `ask` returns 502, that error is recorded under the
    /// `Idempotency-Key`. Other errors of `ask` are not recorded.
    pub fn commands<I, P, O, F>(
        mut self,
        prepare: impl Fn(&mut Context<'_, '_>, I) -> Result<P> + Send + Sync + 'static,
        ask: impl Fn(CommandContext, P) -> F + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        P: Send + 'static,
        O: Serialize + JsonSchema + Send + Sync + 'static,
        F: Future<Output = Result<O>> + Send + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.raised_revision = RaisedRevision::Stream;
        let (prepare, ask) = (Arc::new(prepare), Arc::new(ask));
        self.0.work = Work::Command(Box::new(move |input| {
            let (prepare, ask, input) = (prepare.clone(), ask.clone(), typed::<I>(input)?);
            Ok(Box::new(move |context| {
                let prepared = prepare(context, input)?;
                Ok(Box::new(move |commanded| {
                    let asking = ask(commanded, prepared);
                    Box::pin(async move { Ok(Answer::of(asking.await?)) })
                }))
            }))
        }));
        self.0
    }
}

fn in_organization<I>(
    work: impl Fn(&mut Context<'_, '_>, I) -> Result<Answer> + Send + Sync + 'static,
) -> Work
where
    I: DeserializeOwned + Send + 'static,
{
    let work = Arc::new(work);
    Work::Organization(Box::new(move |input| {
        let (work, input) = (work.clone(), typed(input)?);
        Ok(Box::new(move |context| work(context, input)))
    }))
}

/// Converts a validated input to its type. The schema comes from the type, so the conversion fails
/// only for a number beyond the type's range.
fn typed<I: DeserializeOwned>(input: Value) -> Result<I> {
    serde_json::from_value(input).map_err(|error| Error::invalid(&[], error.to_string()))
}

/// Removes `limit` and `offset` from an input and returns them as a page.
fn page(input: &mut Value, limits: PageLimits) -> Page {
    let mut take = |name| {
        input
            .as_object_mut()
            .and_then(|fields| fields.remove(name))
            .and_then(|value| value.as_i64())
    };
    let (limit, offset) = (take("limit"), take("offset"));
    Page {
        limit: limit
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(limits.default),
        offset: offset.unwrap_or(0),
    }
}

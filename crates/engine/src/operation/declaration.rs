//! How an operation is declared: what there is to say of it, and in the end its function.

use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::{Answer, Basis, Effect, Findings, Foreseen, Listing, Operation, Page, PageLimits, ShownOnce, Touches, Work};
use crate::audit::Audits;
use crate::context::{Context, System};
use crate::error::{Error, Result};
use crate::kit::Kit;
use crate::uploads::TakesFile;

/// An operation without its function yet.
pub struct Declaration(pub(super) Operation);

impl Declaration {
    /// One line for the document.
    #[must_use]
    pub fn summary(mut self, summary: &'static str) -> Self {
        self.0.summary = summary;
        self
    }

    /// How the tools present it: the set it belongs to, its title, and what a language model that has never heard of the product has
    /// to know of it, which is its description in the document as well. The title is the summary of what has none.
    #[must_use]
    pub fn tool(mut self, toolset: &'static str, title: &'static str, about: &'static str) -> Self {
        (self.0.toolset, self.0.title, self.0.about) = (toolset, title, about);
        if self.0.summary.is_empty() {
            self.0.summary = title;
        }
        self
    }

    /// Says more of fields that it does not take than that it does not: each by the end of its path, such as `items.text`, lists
    /// passed over.
    #[must_use]
    pub fn misnomers(mut self, fields: &'static [(&'static str, &'static str)]) -> Self {
        self.0.misnomers = fields;
        self
    }

    /// Answers 201.
    #[must_use]
    pub fn creates(mut self) -> Self {
        self.0.status = 201;
        self
    }

    /// Is not a tool.
    #[must_use]
    pub fn rest_only(mut self) -> Self {
        self.0.is_tool = false;
        self
    }

    /// Leaves fields out of the tool's arguments.
    #[must_use]
    pub fn not_for_tools(mut self, fields: &'static [&'static str]) -> Self {
        self.0.not_for_tools = fields;
        self
    }

    /// May lose something, though it is a POST.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.0.is_destructive = true;
        self
    }

    /// Changes nothing more when it is run again with the same input, though it is a POST.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.0.is_idempotent = true;
        self
    }

    /// Its answers may be given again while what they are made of is unchanged: they depend on nothing else. One that depends
    /// on the time says until when it holds ([`crate::context::Context::holds_until`]).
    #[must_use]
    pub fn kept(mut self, basis: Basis) -> Self {
        self.0.kept = Some(basis);
        self
    }

    /// A replica may answer it, where there is one. What it reads that is not written under the organization's lock may be behind then.
    #[must_use]
    pub fn may_lag(mut self) -> Self {
        self.0.may_lag = true;
        self
    }

    /// Changes nothing, and is a POST only because what it asks for is long.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.0.effect = Effect::Read;
        self
    }

    /// Changes nothing that is configured.
    #[must_use]
    pub fn touches_stream(mut self) -> Self {
        self.0.touches = Touches::Stream;
        self
    }

    /// Stands in the audit log, told as this says.
    #[must_use]
    pub fn audited(mut self, audits: Audits) -> Self {
        self.0.audits = Some(audits);
        self
    }

    /// Has a secret in a field of its answer, which is shown once: under an `Idempotency-Key` the answer is kept without it. Who asks
    /// for that passes this check again, which the function makes as well.
    #[must_use]
    pub fn shows_once(mut self, field: &'static str, check: fn(&Context<'_, '_>) -> Result<()>) -> Self {
        self.0.shows_once = Some(ShownOnce { field, check });
        self
    }

    /// Takes bodies of up to so many bytes, and may run so long.
    #[must_use]
    pub fn bulk(mut self, body_limit: usize, patience: Duration) -> Self {
        self.0.body_limit = body_limit;
        self.0.patience = patience;
        self
    }

    /// Comes with a file, as `multipart/form-data`, the other fields of its body as texts beside it. The file is kept before the
    /// function runs, which finds it in its input as [`crate::uploads::Received`]; it is removed where the function refuses.
    #[must_use]
    pub fn takes_file(mut self, file: TakesFile) -> Self {
        self.0.file = Some(file);
        self.0.is_tool = false;
        self
    }

    /// Keeps some of what is sent: in its input, numbers that no double is equal to stand as [`crate::json`] marks them.
    #[must_use]
    pub fn keeps_numbers(mut self) -> Self {
        self.0.keeps_numbers = true;
        self
    }

    /// Holds its input against rules that a schema cannot say: of a field that is more than a value, of fields that do not go
    /// together. They are pure, and are judged beside the schema whatever that finds, so that a request hears of everything at
    /// once. They get the input without the fields that are wrong, and the names of those, of which nothing can be said.
    #[must_use]
    pub fn rules<I: DeserializeOwned>(mut self, rules: impl Fn(I, &[&str]) -> Findings + Send + Sync + 'static) -> Self {
        self.0.rules = Some(Box::new(move |input, wrong| I::deserialize(input).map(|input| rules(input, wrong)).unwrap_or_default()));
        self
    }

    /// Says what a write asks first, in this order, what is told of it before it is done included: on PostgreSQL that is asked along
    /// with the organization's lock, rather than each by a way to the server and back. What it does not ask after all is asked for
    /// nothing.
    #[must_use]
    pub fn foresees(mut self, asks: impl Fn(&Value) -> Vec<Foreseen> + Send + Sync + 'static) -> Self {
        self.0.foresees = Some(Box::new(asks));
        self
    }

    /// The same where it is [`Foreseen::of_its_thing`].
    #[must_use]
    pub fn foresees_its_thing(self, ask: fn(Uuid) -> Foreseen) -> Self {
        self.foresees(move |input| Foreseen::of_its_thing(input, ask).collect())
    }

    /// Runs within the caller's organization.
    pub fn run<I, O>(mut self, work: impl Fn(&mut Context<'_, '_>, I) -> Result<O> + Send + Sync + 'static) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.work = tenant(move |context, input| Answer::new(&work(context, input)?));
        self.0
    }

    /// Runs within the caller's organization and answers JSON text of the type `O`, which the database put together: for
    /// lists whose rows were serialized when they were written.
    pub fn run_text<I, O>(mut self, work: impl Fn(&mut Context<'_, '_>, I) -> Result<String> + Send + Sync + 'static) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.work = tenant(move |context, input| Ok(Answer { data: work(context, input)?, pagination: None }));
        self.0
    }

    /// Runs within the caller's organization and answers a page of a list.
    pub fn pages<I, O>(
        mut self,
        limits: PageLimits,
        work: impl Fn(&mut Context<'_, '_>, I, Page) -> Result<Listing<O>> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<Vec<O>>);
        self.0.paging = Some(limits);
        let work = Arc::new(work);
        self.0.work = Work::Tenant(Box::new(move |mut input| {
            let page = page(&mut input, limits);
            let (work, input) = (work.clone(), typed(input)?);
            Ok(Box::new(move |context| Answer::listing(&work(context, input, page)?, page)))
        }));
        self.0
    }

    /// Runs without an organization.
    pub fn run_system<I, O>(mut self, work: impl Fn(&mut System<'_, '_>, I) -> Result<O> + Send + Sync + 'static) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.work = Work::System(Box::new(move |system, input| Answer::new(&work(system, typed(input)?)?)));
        self.0
    }

    /// Runs without an organization and answers a page of a list.
    pub fn pages_system<I, O>(
        mut self,
        limits: PageLimits,
        work: impl Fn(&mut System<'_, '_>, I, Page) -> Result<Listing<O>> + Send + Sync + 'static,
    ) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<Vec<O>>);
        self.0.paging = Some(limits);
        self.0.work = Work::System(Box::new(move |system, mut input| {
            let page = page(&mut input, limits);
            Answer::listing(&work(system, typed(input)?, page)?, page)
        }));
        self.0
    }

    /// Asks another service. There is no transaction: what is read here is settings, and nothing is written.
    pub fn asks<I, O, F>(mut self, work: impl Fn(Arc<Kit>, I) -> F + Send + Sync + 'static) -> Operation
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Future<Output = Result<O>> + Send + 'static,
    {
        self.0.input = Box::new(I::json_schema);
        self.0.output = Box::new(SchemaGenerator::subschema_for::<O>);
        self.0.effect = Effect::Read;
        self.0.work = Work::Provider(Box::new(move |service, input| {
            let asking = typed(input).map(|input| work(service, input));
            Box::pin(async move { Answer::new(&asking?.await?) })
        }));
        self.0
    }
}

fn tenant<I>(work: impl Fn(&mut Context<'_, '_>, I) -> Result<Answer> + Send + Sync + 'static) -> Work
where
    I: DeserializeOwned + Send + 'static,
{
    let work = Arc::new(work);
    Work::Tenant(Box::new(move |input| {
        let (work, input) = (work.clone(), typed(input)?);
        Ok(Box::new(move |context| work(context, input)))
    }))
}

/// A validated input as its type. The schema is the type's own, so what is refused here is a number beyond its range.
fn typed<I: DeserializeOwned>(input: Value) -> Result<I> {
    serde_json::from_value(input).map_err(|error| Error::invalid(&[], error.to_string()))
}

/// The page that an input asks for, whose fields are taken out of it.
fn page(input: &mut Value, limits: PageLimits) -> Page {
    let mut take = |name| input.as_object_mut().and_then(|fields| fields.remove(name)).and_then(|value| value.as_i64());
    let (limit, offset) = (take("limit"), take("offset"));
    Page { limit: limit.and_then(|number| u32::try_from(number).ok()).unwrap_or(limits.default), offset: offset.unwrap_or(0) }
}

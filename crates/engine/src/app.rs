//! A program for the engine to run: its operations, its statements and the lists of its modules.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};
use store::{Row, Statement, Store, Transaction};

use crate::access::Identified;
use crate::app_state::{AppState, Lists};
use crate::error::Result;
use crate::operation::{Operation, Surface};

/// A program that [`crate::module::assemble`] has put together from modules.
pub struct App {
    /// All operations of all surfaces, in the order of the OpenAPI document.
    pub operations: Vec<Operation>,
    /// All SQL statements of the program.
    pub statements: Vec<&'static Statement>,
    /// Statements that remove rows of an erased organization, one for each table. Tables that refer
    /// to other tables come first.
    pub erased: Vec<&'static Statement>,
    /// The summaries of all modules.
    pub summaries: Vec<&'static Summary>,
    /// The lists of all modules: values for lower modules and for the engine, found by their type.
    pub lists: Lists,
    /// The tags of the OpenAPI document. Each entry has the first path segment of the tag's
    /// operations, such as `portals`, and the description of the tag.
    pub subjects: Vec<(&'static str, &'static str)>,
    /// The titles, the descriptions and the functions that concern the whole program.
    pub about: About,
}

impl App {
    /// Returns the operation with this id.
    #[must_use]
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }
}

/// Texts that describe the program as a whole, and functions of the program that the engine calls.
#[derive(Clone, Copy)]
pub struct About {
    /// Returns the title and the description for the OpenAPI document of an interface.
    pub interface: fn(Surface) -> (&'static str, &'static str),
    /// Instructions for the use of all tools together, which clients pass to their language models.
    pub instructions: &'static str,
    /// Returns advice for a language model whose tool call failed, or `None`. The argument is the
    /// `error` object of the response.
    pub advice: fn(&Value) -> Option<String>,
    /// Additions to the OpenAPI documents.
    pub annex: DocumentAdditions,
    /// Finds the caller for the token in the path of a guest's link.
    pub link: GuestTokenLookup,
}

/// Additions to the OpenAPI documents.
#[derive(Clone, Copy)]
pub struct DocumentAdditions {
    /// Returns the parameters that modules add to `components.parameters` of the public OpenAPI
    /// document.
    pub parameters: fn() -> Value,
    /// Returns schemas that the OpenAPI document of an interface publishes under separate names.
    pub schemas: fn(Surface) -> Vec<Named>,
    /// Returns the webhooks for the public OpenAPI document. The argument contains the schemas of
    /// that document by name, so that a webhook can refer to them.
    pub webhooks: fn(&Map<String, Value>) -> Map<String, Value>,
}

/// A schema that is published under a separate name, so that other schemas can refer to it.
pub struct Named {
    pub name: String,
    pub schema: Value,
    /// Whether the schema is published even if no operation refers to it.
    pub is_always: bool,
}

/// A function that finds the callers of tokens from guests' links. The returned map has an entry
/// for each given token that exists.
pub type FindLinked = fn(&mut Transaction<'_>, Vec<String>) -> Result<HashMap<String, Identified>>;

/// The function that identifies guests by the token in the path of their requests, and the name of
/// the object that a token opens.
#[derive(Clone, Copy)]
pub struct GuestTokenLookup {
    /// Finds the caller for each token of a guest's link. The returned map has no entry for a token
    /// that does not exist.
    pub find: FindLinked,
    /// The kind of object that the 404 for an unknown token names, such as `Stay`.
    pub what: &'static str,
}

/// A text format whose check needs a network call. Modules offer such formats in a list.
pub struct NetworkFormat {
    /// The name of the format in schemas.
    pub name: &'static str,
    /// Checks a text of a request. Returns an error message if the text does not have this format.
    pub check: fn(Arc<AppState>, String) -> BoxFuture<'static, Result<(), String>>,
}

/// A function with which a module measures its gauges whenever the metrics are read. Modules offer
/// these functions in a list.
pub struct Gauges(pub fn(Store, Timestamp) -> BoxFuture<'static, Vec<Gauge>>);

/// A metric and its current value.
pub struct Gauge {
    /// The name of the metric.
    pub name: &'static str,
    /// A description of the gauge.
    pub help: &'static str,
    /// The measured value, as text.
    pub value: String,
}

/// A summary: a list item that is stored as text beside its document.
pub struct Summary {
    pub name: &'static str,
    /// The version of the summary's format. Raise it with every change of the format: stored
    /// summaries of an older version are then rewritten.
    pub version: i64,
    /// Reads the organization's documents with ids after a given id, up to a limit. The columns are
    /// `id, doc`.
    pub read: &'static Statement,
    /// Stores a summary in the row of its document, which the statement finds by the document's id.
    pub write: &'static Statement,
    /// Creates the summary from the row of a document.
    pub of: fn(&Row) -> Result<String>,
}

//! A program, as the engine knows it: its operations, and what the chapters have listed.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};
use store::{Row, Statement, Store, Transaction};

use crate::access::Identified;
use crate::error::Result;
use crate::kit::{Kit, Lists};
use crate::operation::{Operation, Surface};

/// A program.
pub struct App {
    /// Every operation of every surface, in the order of the document.
    pub operations: Vec<Operation>,
    /// Every statement.
    pub statements: Vec<&'static Statement>,
    /// How some rows of each table of an organization are removed, what names other rows before those.
    pub erased: Vec<&'static Statement>,
    /// Every summary.
    pub summaries: Vec<&'static Summary>,
    /// What the chapters list for each other and for the engine, by its type.
    pub lists: Lists,
    /// What the chapters say of what their operations are about: the first word of a path, and words for it.
    pub subjects: Vec<(&'static str, &'static str)>,
    /// What is said of it as a whole.
    pub about: About,
}

impl App {
    /// The operation of this id.
    #[must_use]
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.id == id)
    }
}

/// What is said of a program as a whole, and what of it the engine cannot know.
#[derive(Clone, Copy)]
pub struct About {
    /// What the document of an interface says of it: its title, and a description.
    pub interface: fn(Surface) -> (&'static str, &'static str),
    /// What clients tell their models about all tools together.
    pub instructions: &'static str,
    /// What to do now that a tool was refused, given the error, where there is something to say.
    pub advice: fn(&Value) -> Option<String>,
    /// What the document has besides operations.
    pub annex: Annex,
    /// Whose token stands in the path of a guest's request.
    pub link: Link,
}

/// What the OpenAPI document has besides operations.
#[derive(Clone, Copy)]
pub struct Annex {
    /// Parameters beside the engine's.
    pub parameters: fn() -> Value,
    /// Schemas that get names of their own in the document of an interface.
    pub schemas: fn(Surface) -> Vec<Named>,
    /// Messages that the program sends, given the schemas with names: they are told of beside the public interface.
    pub webhooks: fn(&Map<String, Value>) -> Map<String, Value>,
}

/// A schema with a name of its own.
pub struct Named {
    /// Its name.
    pub name: String,
    /// The schema.
    pub schema: Value,
    /// Whether it is there also where no operation answers it.
    pub is_always: bool,
}

/// Finds who comes with tokens of links, by token.
pub type FindLinked = fn(&mut Transaction<'_>, Vec<String>) -> Result<HashMap<String, Identified>>;

/// Finds whose token stands in the path of a guest's request.
#[derive(Clone, Copy)]
pub struct Link {
    /// Who comes with some tokens, by token, as far as anybody does.
    pub find: FindLinked,
    /// What is not found where nobody does.
    pub what: &'static str,
}

/// A format of a text that only the network can judge; chapters list them.
pub struct NetworkFormat {
    /// As schemas name it.
    pub name: &'static str,
    /// What is wrong with a text, if anything is.
    pub check: fn(Arc<Kit>, String) -> BoxFuture<'static, Result<(), String>>,
}

/// Measures of a chapter, asked for whenever all are read; chapters list them.
pub struct Gauges(pub fn(Store, Timestamp) -> BoxFuture<'static, Vec<Gauge>>);

/// One measure.
pub struct Gauge {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// How much it is.
    pub value: String,
}

/// A summary that stands beside documents.
pub struct Summary {
    /// What it is of.
    pub name: &'static str,
    /// Raised whenever the program begins to write it otherwise.
    pub version: i64,
    /// The documents of an organization after an id: columns `id, doc`, as many as asked for.
    pub read: &'static Statement,
    /// Writes the summary beside the document of an id.
    pub write: &'static Statement,
    /// From the row of a document to its summary.
    pub of: fn(&Row) -> Result<String>,
}

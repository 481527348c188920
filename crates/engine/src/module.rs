//! The registration of a module of the program.

use std::sync::Arc;

use axum::Router;
use store::Statement;

use crate::app::{About, App, Summary};
use crate::app_state::Lists;
use crate::operation::Operation;
use crate::pipeline::Service;

/// A function that creates routes from the state that all requests share.
pub type Routes = fn(&Arc<Service>) -> Router;

/// The registration of a module: all that the module adds to the program.
pub struct Module {
    pub name: &'static str,
    pub operations: fn() -> Vec<Operation>,
    pub statements: fn() -> Vec<&'static Statement>,
    /// Statements that remove rows of an erased organization, one for each table
    /// ([`crate::some_of!`]). Tables that refer to other tables come first.
    pub erased: &'static [&'static Statement],
    pub summaries: &'static [&'static Summary],
    /// The tags that the module adds to the OpenAPI document. Each entry has the first path segment
    /// of the tag's operations, such as `portals`, and the description of the tag.
    pub subjects: &'static [(&'static str, &'static str)],
    /// HTTP routes of the module that are not operations, such as the pages of the console.
    pub routes: Option<Routes>,
    /// Routes that pages of every origin may call. These routes set their own CORS headers.
    pub open_routes: Option<Routes>,
    /// Adds the module's values to the lists of lower modules and of the engine.
    pub lists: fn(&mut Lists),
}

impl Module {
    /// Returns an empty registration.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            operations: Vec::new,
            statements: Vec::new,
            erased: &[],
            summaries: &[],
            subjects: &[],
            routes: None,
            open_routes: None,
            lists: |_| {},
        }
    }
}

/// Assembles a program from modules. The order of the modules determines the order of the OpenAPI
/// document and of the lists. When an organization is erased, the rows of the modules are removed
/// before those of the engine.
#[must_use]
pub fn assemble(modules: &[&Module], about: About) -> App {
    let mut lists = Lists::default();
    for module in modules {
        (module.lists)(&mut lists);
    }
    let collect = |statements_of: fn(&Module) -> Vec<&'static Statement>| {
        modules
            .iter()
            .flat_map(|module| statements_of(module))
            .collect::<Vec<_>>()
    };
    App {
        operations: modules
            .iter()
            .flat_map(|module| (module.operations)())
            .collect(),
        statements: [
            crate::statements(),
            collect(|module| [(module.statements)(), module.erased.to_vec()].concat()),
        ]
        .concat(),
        erased: [
            collect(|module| module.erased.to_vec()),
            crate::erased::STATEMENTS.to_vec(),
        ]
        .concat(),
        summaries: modules
            .iter()
            .flat_map(|module| module.summaries)
            .copied()
            .collect(),
        lists,
        subjects: modules
            .iter()
            .flat_map(|module| module.subjects)
            .copied()
            .collect(),
        about,
    }
}

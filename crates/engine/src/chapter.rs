//! A chapter of a program: what it brings, declared in one place.

use std::sync::Arc;

use axum::Router;
use store::Statement;

use crate::app::{About, App, Summary};
use crate::kit::Lists;
use crate::operation::Operation;
use crate::pipeline::Service;

/// Routes, made of what every request shares.
pub type Routes = fn(&Arc<Service>) -> Router;

/// What a chapter brings.
pub struct Chapter {
    /// What it is called.
    pub name: &'static str,
    /// Its operations.
    pub operations: fn() -> Vec<Operation>,
    /// Its statements.
    pub statements: fn() -> Vec<&'static Statement>,
    /// How some rows of each of its tables are removed, what names other rows before those ([`crate::some_of!`]).
    pub erased: &'static [&'static Statement],
    /// Its summaries.
    pub summaries: &'static [&'static Summary],
    /// What its operations are about, in the document: the word that their paths begin with, and a sentence or two.
    pub subjects: &'static [(&'static str, &'static str)],
    /// What it answers besides operations.
    pub routes: Option<Routes>,
    /// What of that browsers of every origin may ask; it says so itself.
    pub open_routes: Option<Routes>,
    /// What it lists for the chapters below it, and for the engine.
    pub lists: fn(&mut Lists),
}

impl Chapter {
    /// A chapter that brings nothing yet.
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

/// Puts a program together. The order of the chapters is that of the document, and of what they list. Of an erased organization
/// the rows of the chapters go first, then those of the engine.
#[must_use]
pub fn assemble(chapters: &[&Chapter], about: About) -> App {
    let mut lists = Lists::default();
    for chapter in chapters {
        (chapter.lists)(&mut lists);
    }
    let of_all = |of: fn(&Chapter) -> Vec<&'static Statement>| chapters.iter().flat_map(|chapter| of(chapter)).collect::<Vec<_>>();
    App {
        operations: chapters.iter().flat_map(|chapter| (chapter.operations)()).collect(),
        statements: [crate::statements(), of_all(|chapter| [(chapter.statements)(), chapter.erased.to_vec()].concat())].concat(),
        erased: [of_all(|chapter| chapter.erased.to_vec()), crate::erased::STATEMENTS.to_vec()].concat(),
        summaries: chapters.iter().flat_map(|chapter| chapter.summaries).copied().collect(),
        lists,
        subjects: chapters.iter().flat_map(|chapter| chapter.subjects).copied().collect(),
        about,
    }
}

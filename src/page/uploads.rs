//! The files of a step: those that are there, and where more can be handed in.

use super::fault::Faults;
use super::given;
use super::seen::{Step, StepFile};
use super::shown::Shown;
use crate::words::fill;

/// What is taken (contract: Steps that are really done).
const ACCEPT: &str = "image/jpeg,image/png,image/webp,image/heic,application/pdf";
const SHOWN: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
const SIZE: u64 = 10 << 20;
const MOST: usize = 10;

/// The files of a step.
pub struct Files<'v> {
    pub listed: Vec<Listed<'v>>,
    /// Which documents are not there yet.
    pub missing: Option<String>,
    pub places: Vec<Place>,
    /// Where a file goes.
    pub action: String,
    pub accept: &'static str,
    pub hint: String,
    /// The kinds of documents to choose from, where the step names none.
    pub kinds: Vec<(&'static str, &'static str)>,
}

/// A file that is there.
pub struct Listed<'v> {
    pub name: &'v str,
    pub kind: Option<String>,
    /// Where it is looked at, if a browser shows its kind.
    pub thumbnail: Option<String>,
    /// Where it is taken out again, and what that is called.
    pub remove: Option<(String, String)>,
}

/// Where a file can be handed in.
pub struct Place {
    pub id: String,
    /// Which document goes there, where the step names them.
    pub title: Option<String>,
    pub kind: Option<String>,
    pub error: Option<String>,
    /// From where: the id of the input, what it is called, and whether it is the camera.
    pub inputs: Vec<(String, &'static str, bool)>,
}

/// The files of a step; nothing where there are none and none can be handed in.
#[must_use]
pub fn files<'v>(shown: &Shown, step: &'v Step, is_open: bool, faults: &Faults) -> Option<Files<'v>> {
    let words = &shown.words.files;
    let listed = step.files.iter().map(|file: &'v StepFile| Listed {
        name: &file.name,
        kind: file.document_type.as_deref().map(|kind| given::document(kind, shown)),
        thumbnail: SHOWN.contains(&file.content_type.as_str()).then(|| shown.links.file(step.id, file.id)),
        remove: is_open.then(|| (shown.links.remove(step.id, file.id), fill(words.remove, &[("name", &file.name)]))),
    });
    let is_there = |kind: &String| step.files.iter().any(|file| file.document_type.as_ref() == Some(kind));
    let missing: Vec<&String> = step.required_document_types.iter().filter(|kind| !is_there(kind)).collect();
    let has_room = is_open && step.files.len() < MOST;
    let error = faults.0.iter().find(|fault| fault.field == "file").map(|fault| fault.lack.said(shown.words));
    let place = |(number, kind): (usize, Option<&String>)| {
        let id = format!("f-{number}");
        let inputs = vec![(format!("{id}-file"), words.choose, false), (format!("{id}-photo"), words.take_photo, true)];
        // Which of several it was is not told; the first is as good as any.
        let error = error.clone().filter(|_| number == 0);
        Place { title: kind.map(|kind| given::document(kind, shown)), kind: kind.cloned(), error, inputs, id }
    };
    let places: Vec<Place> = if !has_room {
        Vec::new()
    } else if step.required_document_types.is_empty() {
        vec![place((0, None))]
    } else {
        missing.iter().map(|kind| Some(*kind)).enumerate().map(place).collect()
    };
    let names: Vec<String> = missing.iter().map(|kind| given::document(kind, shown)).collect();
    let listed: Vec<Listed<'v>> = listed.collect();
    let hint = format!("{} {}", fill(words.hint, &[("size", &shown.dates().size(SIZE))]), fill(words.limit, &[("n", &MOST.to_string())]));
    (!listed.is_empty() || !places.is_empty()).then(|| Files {
        missing: (is_open && !names.is_empty()).then(|| fill(words.missing, &[("types", &names.join(", "))])),
        action: shown.links.files(step.id),
        accept: ACCEPT,
        kinds: shown.words.document_types().to_vec(),
        listed,
        places,
        hint,
    })
}

//! The files of a step: the files that are there, and the places for more files.

use uuid::Uuid;

use super::fault::Faults;
use super::given;
use super::shown::Shown;
use crate::guest::{FileView, StepView};
use crate::words::fill;

/// The accepted media types (rules: pre-check-in#files).
const ACCEPT: &str = "image/jpeg,image/png,image/webp,image/heic,application/pdf";
const SHOWN: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
const SIZE: u64 = 10 << 20;
const MOST: usize = 10;

/// The files of a step, and the form for more files.
pub struct Files<'v> {
    pub listed: Vec<Listed<'v>>,
    /// The documents that are still missing, in words.
    pub missing: Option<String>,
    pub places: Vec<Place>,
    /// The address to which a file is sent.
    pub action: String,
    /// The key of the forms, so that a form that is sent twice adds one file.
    pub key: Uuid,
    pub accept: &'static str,
    pub hint: String,
    /// The types of documents to choose from, where the step names none.
    pub kinds: Vec<(&'static str, &'static str)>,
}

/// A file that is there.
pub struct Listed<'v> {
    pub name: &'v str,
    pub kind: Option<String>,
    /// The address that shows the file, if a browser can show its type.
    pub thumbnail: Option<String>,
    /// The address that removes the file, and the label of that button.
    pub remove: Option<(String, String)>,
}

/// A place for a file.
pub struct Place {
    pub id: String,
    /// The document that belongs there, where the step names documents.
    pub title: Option<String>,
    pub kind: Option<String>,
    pub error: Option<String>,
    /// The inputs: the id, the label, and whether the input is the camera.
    pub inputs: Vec<(String, &'static str, bool)>,
}

/// Returns the files of a step; `None` where there are no files and no places for any.
#[must_use]
pub fn files<'v>(
    shown: &Shown,
    step: &'v StepView,
    is_open: bool,
    faults: &Faults,
) -> Option<Files<'v>> {
    let words = &shown.words.files;
    let files = step.files.as_deref().unwrap_or_default();
    let required = step.required_document_types.as_deref().unwrap_or_default();
    let listed = files.iter().map(|file: &'v FileView| Listed {
        name: &file.name,
        kind: file
            .document_type
            .as_deref()
            .map(|kind| given::document(kind, shown)),
        thumbnail: SHOWN
            .contains(&file.content_type.as_str())
            .then(|| shown.links.file(step.id, file.id)),
        remove: is_open.then(|| {
            (
                shown.links.remove(step.id, file.id),
                fill(words.remove, &[("name", &file.name)]),
            )
        }),
    });
    let is_there = |kind: &String| {
        files
            .iter()
            .any(|file| file.document_type.as_ref() == Some(kind))
    };
    let missing: Vec<&String> = required.iter().filter(|kind| !is_there(kind)).collect();
    let has_room = is_open && files.len() < MOST && !step.is_upload_unavailable;
    let error = faults
        .0
        .iter()
        .find(|fault| fault.field == "file")
        .map(|fault| fault.lack.said(shown.words));
    let place = |(number, kind): (usize, Option<&String>)| {
        let id = format!("f-{number}");
        let inputs = vec![
            (format!("{id}-file"), words.choose, false),
            (format!("{id}-photo"), words.take_photo, true),
        ];
        // The refusal does not say which place it is about, so the first place shows it.
        let error = error.clone().filter(|_| number == 0);
        Place {
            title: kind.map(|kind| given::document(kind, shown)),
            kind: kind.cloned(),
            error,
            inputs,
            id,
        }
    };
    let places: Vec<Place> = if !has_room {
        Vec::new()
    } else if required.is_empty() {
        vec![place((0, None))]
    } else {
        missing
            .iter()
            .map(|kind| Some(*kind))
            .enumerate()
            .map(place)
            .collect()
    };
    let names: Vec<String> = missing
        .iter()
        .map(|kind| given::document(kind, shown))
        .collect();
    let listed: Vec<Listed<'v>> = listed.collect();
    let hint = format!(
        "{} {}",
        fill(words.hint, &[("size", &shown.dates().size(SIZE))]),
        fill(words.limit, &[("n", &MOST.to_string())])
    );
    (!listed.is_empty() || !places.is_empty()).then(|| Files {
        missing: (is_open && !names.is_empty())
            .then(|| fill(words.missing, &[("types", &names.join(", "))])),
        action: shown.links.files(step.id),
        key: shown.key,
        accept: ACCEPT,
        kinds: shown.words.document_types().to_vec(),
        listed,
        places,
        hint,
    })
}

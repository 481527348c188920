//! The files of a step: the uploaded files, and the forms that upload more files.

use features::guest::{FileView, StepView};
use features::words::fill;
use uuid::Uuid;

use super::answers;
use super::fault::Faults;
use super::page_stay::PageStay;

/// The media types of the files that a guest may upload (rules: pre-check-in#files).
const ACCEPT: &str = "image/jpeg,image/png,image/webp,image/heic,application/pdf";
const SHOWN: [&str; 3] = ["image/jpeg", "image/png", "image/webp"];
const MAX_FILE_SIZE: u64 = 10 << 20;
const MAX_FILES: usize = 10;

/// The uploaded files of a step, and the forms that upload more files.
pub struct Files<'v> {
    pub listed: Vec<UploadedFile<'v>>,
    /// A sentence that names the required documents that the guest has not uploaded. `None` if none
    /// is missing, or if the guest cannot save the step now.
    pub missing: Option<String>,
    pub places: Vec<UploadSlot>,
    /// The address to which the upload forms send their files.
    pub action: String,
    /// The idempotency key of the forms, so that sending a form twice adds one file.
    pub key: Uuid,
    pub accept: &'static str,
    pub hint: String,
    /// The form value and the label of each document type that the guest can choose. The list is
    /// empty if the step requires certain documents.
    pub kinds: Vec<(&'static str, &'static str)>,
}

/// A file that the guest has uploaded, and the actions for it.
pub struct UploadedFile<'v> {
    pub name: &'v str,
    pub kind: Option<String>,
    /// The address of the uploaded image; `None` if the file is of a type that browsers cannot
    /// show.
    pub thumbnail: Option<String>,
    /// The address of the form that removes the file, and the label of the button of this form.
    pub remove: Option<(String, String)>,
}

/// A form that uploads one file.
pub struct UploadSlot {
    pub id: String,
    /// The name of the required document; `None` if the step requires no documents.
    pub title: Option<String>,
    pub kind: Option<String>,
    pub error: Option<String>,
    /// The element id and the label of each file input, and whether the input opens the camera.
    pub inputs: Vec<(String, &'static str, bool)>,
}

/// Returns the files of a step; `None` if nothing has been uploaded and the step accepts no files.
#[must_use]
pub fn files<'v>(
    page_stay: &PageStay,
    step: &'v StepView,
    is_open: bool,
    faults: &Faults,
) -> Option<Files<'v>> {
    let words = &page_stay.texts.files;
    let files = step.files.as_deref().unwrap_or_default();
    let required = step.required_document_types.as_deref().unwrap_or_default();
    let listed = files.iter().map(|file: &'v FileView| UploadedFile {
        name: &file.name,
        kind: file
            .document_type
            .as_deref()
            .map(|kind| answers::document(kind, page_stay)),
        thumbnail: SHOWN
            .contains(&file.content_type.as_str())
            .then(|| page_stay.links.file(step.id, file.id)),
        remove: is_open.then(|| {
            (
                page_stay.links.remove(step.id, file.id),
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
    let has_room = is_open && files.len() < MAX_FILES && !step.is_upload_unavailable;
    let error = faults
        .0
        .iter()
        .find(|fault| fault.field == "file")
        .map(|fault| fault.kind.message(page_stay.texts));
    let place = |(number, kind): (usize, Option<&String>)| {
        let id = format!("f-{number}");
        let inputs = vec![
            (format!("{id}-file"), words.choose, false),
            (format!("{id}-photo"), words.take_photo, true),
        ];
        // The refusal does not tell which of the step's upload forms was sent. So the first form
        // shows the error.
        let error = error.clone().filter(|_| number == 0);
        UploadSlot {
            title: kind.map(|kind| answers::document(kind, page_stay)),
            kind: kind.cloned(),
            error,
            inputs,
            id,
        }
    };
    let places: Vec<UploadSlot> = if !has_room {
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
        .map(|kind| answers::document(kind, page_stay))
        .collect();
    let listed: Vec<UploadedFile<'v>> = listed.collect();
    let hint = format!(
        "{} {}",
        fill(
            words.hint,
            &[("size", &page_stay.dates().size(MAX_FILE_SIZE))]
        ),
        fill(words.limit, &[("n", &MAX_FILES.to_string())])
    );
    (!listed.is_empty() || !places.is_empty()).then(|| Files {
        missing: (is_open && !names.is_empty())
            .then(|| fill(words.missing, &[("types", &names.join(", "))])),
        action: page_stay.links.files(step.id),
        key: page_stay.key,
        accept: ACCEPT,
        kinds: page_stay.texts.document_types().to_vec(),
        listed,
        places,
        hint,
    })
}

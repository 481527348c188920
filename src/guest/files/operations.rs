//! What guests do with files: hand one in, take one back.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::Text200;
use engine::moment::Moment;
use engine::operation::Operation;
use engine::uploads::{Received, TakesFile};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::address::{self, AddressedFile};
use super::kind::{KINDS, kind};
use super::records::{self, About, FileView, GuestFile};
use super::sweep;
use crate::guest::bounds;
use crate::guest::changes::{self, ChangeKind};
use crate::guest::operations::own_stay;
use crate::guest::precheckin::{Asked, Precheckin};
use crate::precheck;

/// The file that comes with a step.
const FILE: TakesFile = TakesFile { field: "file", most: 10 << 20, kind, kinds: KINDS };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AddFile {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Id of the step that the file is for, a `document_upload` or an `identity_check`; one that this guest is not shown is a 404.
    step_id: Uuid,
    /// The file: JPEG, PNG, WebP, HEIC or PDF by its first bytes, 10 MiB at the most. A step has at most 10.
    file: Received,
    /// Which sort of document it is, such as one of the step's `requiredDocumentTypes`; 1 to 200 characters. Left out: none in particular.
    #[serde(default)]
    document_type: Option<Text200>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneFile {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Id of the step that the file is of.
    step_id: Uuid,
    /// Id of the file that is meant, as the guest's view names it.
    file_id: Uuid,
}

/// That it was done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "success": true }))]
struct Done {
    success: bool,
}

pub(in crate::guest) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest("addStepFile", Method::POST, "/stays/{token}/steps/{stepId}/files")
            .summary("Hand in a file with a step, as multipart/form-data")
            .creates()
            .touches_stream()
            .takes_file(FILE)
            .run(add),
        Operation::guest("getStepFile", Method::GET, "/stays/{token}/steps/{stepId}/files/{fileId}")
            .summary("Read what is known of a file, with an address that shows it for 10 minutes")
            .run(read),
        Operation::guest("removeStepFile", Method::DELETE, "/stays/{token}/steps/{stepId}/files/{fileId}")
            .summary("Take back a file")
            .touches_stream()
            .run(remove),
    ]
}

/// A step that the guest is shown and that takes files; 404 for another.
fn with_files(precheckin: &Precheckin, step: Uuid) -> Result<&Asked> {
    let shown = precheckin.steps.iter().find(|asked| asked.step.id == step && asked.step.step_type.takes_files());
    shown.ok_or_else(|| Error::not_found("Step"))
}

/// The same, where it is open to the guest: 403 and 409 as for saving it.
fn open_step(precheckin: &Precheckin, step: Uuid) -> Result<&Asked> {
    let asked = with_files(precheckin, step)?;
    precheckin.require_open(Some(step))?;
    Ok(asked)
}

fn add(context: &mut Context<'_, '_>, input: AddFile) -> Result<FileView> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    let asked = open_step(&precheckin, input.step_id)?;
    if asked.given.files.len() >= bounds::FILES {
        return Err(bounds::too_many_files());
    }
    let Received { key, name, content_type, size } = input.file;
    let document_type = input.document_type.map(|text| text.0.trim().to_owned());
    let about = About { name, content_type, size, document_type };
    let file = GuestFile { id: context.new_id(), created_at: Moment(context.now()), key, about };
    let due = sweep::next_look(context, &stay.reservation, stay.flat.as_deref().map(|flat| &flat.property))?;
    records::insert(context, stay.id, input.step_id, &file, due)?;
    precheck::mark_used(context, input.step_id)?;
    changes::record(context, ChangeKind::FileAdded, stay.id, Some(input.step_id))?;
    Ok(file.view())
}

fn read(context: &mut Context<'_, '_>, input: OneFile) -> Result<AddressedFile> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    address::shown(context, one(with_files(&precheckin, input.step_id)?, input.file_id)?)
}

fn remove(context: &mut Context<'_, '_>, input: OneFile) -> Result<Done> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    one(open_step(&precheckin, input.step_id)?, input.file_id)?;
    records::remove(context, vec![input.file_id])?;
    changes::record(context, ChangeKind::FileRemoved, stay.id, Some(input.step_id))?;
    Ok(Done { success: true })
}

/// A file of a step; 404 where it has none of this id.
fn one(asked: &Asked, id: Uuid) -> Result<&GuestFile> {
    asked.given.files.iter().find(|file| file.id == id).ok_or_else(|| Error::not_found("File"))
}

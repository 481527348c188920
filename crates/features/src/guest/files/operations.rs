//! The operations that add, read and remove a guest's files.

use engine::context::Context;
use engine::error::{Error, Result};
use engine::field::Text200;
use engine::operation::{Operation, OperationName};
use engine::uploads::{TakesFile, UploadedFile};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::address::{self, AddressedFile};
use super::kind::{ACCEPTED_FILE_TYPES, detect_media_type, with_extension};
use super::records::{self, FileDocument, FileView, GuestFile};
use super::sweep;
use crate::guest::bounds::{self, UploadLimits};
use crate::guest::changes::{self, ChangeKind};
use crate::guest::operations::own_stay;
use crate::guest::precheckin::Precheckin;
use crate::guest::step_of_stay::StepOfStay;
use crate::precheck;

/// Reads a file of a step, with an address from which to download it.
pub const GET_STEP_FILE: OperationName<AddressedFile> = OperationName::new("getStepFile");

/// The file in an upload to a step, and its limits.
const FILE: TakesFile = TakesFile {
    field: "file",
    max_bytes: 10 << 20,
    kind: detect_media_type,
    kinds: ACCEPTED_FILE_TYPES,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AddFile {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Id of the file's step, a `document_upload` or an `identity_check`; 404 for a step that this
    /// guest does not get.
    step_id: Uuid,
    /// The file: JPEG, PNG, WebP, HEIC or PDF by its first bytes, at most 10 MiB. At most 10 files
    /// a step.
    file: UploadedFile,
    /// Type of document, such as one of the step's `requiredDocumentTypes`; 1 to 200 characters.
    /// Left out: no type.
    #[serde(default)]
    document_type: Option<Text200>,
    /// A UUID that the sender chooses for this file. If the step has the same file, with the same
    /// document type and the same UUID, that stored file is returned and nothing is stored. Left
    /// out: every request adds a file.
    #[serde(default)]
    key: Option<Uuid>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneFile {
    /// The stay's token, from the guest's link: it is the credential.
    #[expect(dead_code, reason = "the caller is identified by it")]
    token: String,
    /// Id of the file's step.
    step_id: Uuid,
    /// Id of the file, as `getStay` returns it.
    file_id: Uuid,
}

/// Confirmation that the file is removed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({ "success": true }))]
struct FileSuccess {
    success: bool,
}

pub(in crate::guest) fn operations() -> Vec<Operation> {
    vec![
        Operation::guest(
            "addStepFile",
            Method::POST,
            "/stays/{token}/steps/{stepId}/files",
        )
        .summary("Hand in a file with a step, as multipart/form-data")
        .creates()
        .touches_stream()
        .takes_file(FILE)
        .run(add),
        Operation::guest(
            GET_STEP_FILE.id(),
            Method::GET,
            "/stays/{token}/steps/{stepId}/files/{fileId}",
        )
        .summary("Read what is known of a file, with an address that shows it for 10 minutes")
        .run_as(GET_STEP_FILE, read),
        Operation::guest(
            "removeStepFile",
            Method::DELETE,
            "/stays/{token}/steps/{stepId}/files/{fileId}",
        )
        .summary("Take back a file")
        .touches_stream()
        .run(remove),
    ]
}

/// Returns a step of the stay to which guests upload files; 404 for any other step.
fn file_step(precheckin: &Precheckin, step: Uuid) -> Result<&StepOfStay> {
    let stay_step = precheckin
        .steps
        .iter()
        .find(|stay_step| stay_step.step.id == step && stay_step.step.step_type.takes_files());
    stay_step.ok_or_else(|| Error::not_found("Step"))
}

/// Returns a step to which guests upload files, if the guest may save the step. If the guest may
/// not save it, fails with the same 403 or 409 as the operation that saves answers.
fn open_step(precheckin: &Precheckin, step: Uuid) -> Result<&StepOfStay> {
    let stay_step = file_step(precheckin, step)?;
    precheckin.require_open(Some(step))?;
    Ok(stay_step)
}

fn add(context: &mut Context<'_, '_>, input: AddFile) -> Result<FileView> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    let stay_step = open_step(&precheckin, input.step_id)?;
    let UploadedFile {
        key,
        name,
        content_type,
        size,
        digest,
    } = input.file;
    let document_type = input.document_type.map(|text| text.0.trim().to_owned());
    // The same file is stored already if the sender repeats a request. The bytes of this request
    // are then deleted.
    let stored_file = stay_step.stored.files.iter().find(|file| {
        input.key.is_some()
            && file.document.form_key == input.key
            && file.document.digest.as_ref() == Some(&digest)
            && file.document.document_type == document_type
    });
    if let Some(stored_file) = stored_file {
        let view = stored_file.view();
        records::queue_file_removal(context, key)?;
        return Ok(view);
    }
    if stay_step.stored.files.len() >= bounds::MAX_FILES {
        return Err(bounds::too_many_files());
    }
    let used = records::used_upload_bytes(context, stay.id)?;
    bounds::check_space(limits(context)?, used, size)?;
    let name = with_extension(&name, &content_type);
    let about = FileDocument {
        name,
        content_type,
        size,
        document_type,
        digest: Some(digest),
        form_key: input.key,
    };
    let file = GuestFile {
        id: context.new_id(),
        created_at: precheckin.input_time(context.now()),
        key,
        document: about,
    };
    let due = sweep::next_retention_check(
        context,
        &stay.reservation,
        stay.flat.as_deref().map(|flat| &flat.property),
    )?;
    records::insert(context, stay.id, input.step_id, &file, due)?;
    precheck::mark_used(context, input.step_id)?;
    changes::record(context, ChangeKind::FileAdded, stay.id, Some(input.step_id))?;
    Ok(file.view())
}

/// Returns the upload limits for the caller's organization. The organization's own limit on the
/// bytes of its files takes precedence over that of the service.
fn limits(context: &Context<'_, '_>) -> Result<UploadLimits> {
    let of_service = *context.extension::<UploadLimits>()?;
    let own = context.organization.settings.upload_limit_bytes;
    Ok(UploadLimits {
        per_organization: own.unwrap_or(of_service.per_organization),
        ..of_service
    })
}

fn read(context: &mut Context<'_, '_>, input: OneFile) -> Result<AddressedFile> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    address::with_address(
        context,
        find_file(file_step(&precheckin, input.step_id)?, input.file_id)?,
    )
}

fn remove(context: &mut Context<'_, '_>, input: OneFile) -> Result<FileSuccess> {
    let (stay, setup) = own_stay(context, None)?;
    let precheckin = Precheckin::load(context, &stay, &setup.steps)?;
    find_file(open_step(&precheckin, input.step_id)?, input.file_id)?;
    records::remove(context, vec![input.file_id])?;
    changes::record(
        context,
        ChangeKind::FileRemoved,
        stay.id,
        Some(input.step_id),
    )?;
    Ok(FileSuccess { success: true })
}

/// Returns a file of a step; 404 where the step has no file with this id.
fn find_file(stay_step: &StepOfStay, id: Uuid) -> Result<&GuestFile> {
    stay_step
        .stored
        .files
        .iter()
        .find(|file| file.id == id)
        .ok_or_else(|| Error::not_found("File"))
}

//! Signed, short-lived addresses of files, and the route `/files/guest/…` that serves the files.
//!
//! The signature in the address is the only credential. Every invalid address (changed, expired, or
//! of a deleted file) gets the same 404, so a guess does not show whether a file exists.
//! Guests upload the files, so their content is not trusted. The response tells a browser to save
//! the file, to trust only the declared media type, and to run nothing in the file.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::response::Response;
use axum::routing::get;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::format;
use engine::pipeline::Service;
use engine::uploads::Uploads;
use engine::values;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Json, Transaction};
use uuid::Uuid;
use vestibule_http::surface::{RequestId, ServedOperation, refuse_as};

use super::kind::is_inline_type;
use super::records::{FileDocument, FileView, GuestFile};
use crate::records::{AddressSigner, PhotoSigner};

/// The time for which an address is valid.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The name of this route in the log and in the metrics.
const OPERATION: &str = "getGuestFile";
/// The name from which the service derives the key that signs addresses of guests' files. Keys with
/// other names sign other data.
const PURPOSE: &str = "guest_files";

store::statements! {
    /// Selects a file without a check of permissions, because the valid signature of an address
    /// permits every caller to read the file.
    FILE = "select f.key, f.doc from guest_file f join organization o on o.id = f.organization_id
        where f.organization_id = ?1 and f.id = ?2 and o.erased_at is null";
}

/// A file, and an address from which a browser can fetch its bytes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressedFile {
    #[serde(flatten)]
    pub file: FileView,
    /// Address of the file's bytes, valid for 10 minutes.
    pub url: String,
}

/// The address in a request: the signed values and the signature.
struct FileAddress {
    organization: Uuid,
    file: Uuid,
    /// The time from which the address is no longer valid, in Unix seconds.
    expires: i64,
    /// Whether a browser that opens the address shows the file if it is a picture. If `false`, the
    /// browser saves every file.
    is_view: bool,
    signature: String,
}

impl FileAddress {
    fn is_signed(&self, signer: &AddressSigner) -> bool {
        let (expires, view) = (self.expires.to_be_bytes(), [u8::from(self.is_view)]);
        signer.is_signed(
            &[
                self.organization.as_bytes(),
                self.file.as_bytes(),
                &expires,
                &view,
            ],
            &self.signature,
        )
    }
}

/// Returns files with addresses for staff and for the platform. A browser that opens such an
/// address saves the file, even a picture.
pub(crate) fn with_addresses(
    context: &Context<'_, '_>,
    files: &[GuestFile],
) -> Result<Vec<AddressedFile>> {
    files
        .iter()
        .map(|file| address(context, file, false))
        .collect()
}

/// Returns a file with an address for the guest who uploaded it. A browser that opens the address
/// shows a picture, and saves any other file.
pub(super) fn with_address(context: &Context<'_, '_>, file: &GuestFile) -> Result<AddressedFile> {
    address(context, file, true)
}

fn address(context: &Context<'_, '_>, file: &GuestFile, is_view: bool) -> Result<AddressedFile> {
    let signer = context.extension::<PhotoSigner>()?.signer(PURPOSE)?;
    let (organization, base) = (context.organization.id, context.public_url());
    let expires = context
        .now()
        .checked_add(LIFETIME)
        .unwrap_or(Timestamp::MAX)
        .as_second();
    let signature = signer.sign(&[
        organization.as_bytes(),
        file.id.as_bytes(),
        &expires.to_be_bytes(),
        &[u8::from(is_view)],
    ]);
    let view = if is_view { "&view=1" } else { "" };
    let url = format!(
        "{base}/files/guest/{organization}/{}?expires={expires}{view}&signature={signature}",
        file.id
    );
    Ok(AddressedFile {
        file: file.view(),
        url,
    })
}

/// Returns the route that serves files of guests.
pub(in crate::guest) fn routes(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/files/guest/{organizationId}/{fileId}", get(file))
        .with_state(service.clone())
}

/// The parameters of the path, or an error if they are not UTF-8.
type GuestFilePath = Result<Path<(String, String)>, PathRejection>;

async fn file(
    State(service): State<Arc<Service>>,
    path: GuestFilePath,
    request: HttpRequest,
) -> Response {
    let id = request
        .extensions()
        .get::<RequestId>()
        .map_or(Uuid::nil(), |id| id.0);
    let address = path
        .ok()
        .and_then(|Path(path)| parse_address(&path, request.uri().query().unwrap_or_default()));
    let mut response = open(&service, address)
        .await
        .unwrap_or_else(|error| refuse_as(OPERATION, &error, id));
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    response.extensions_mut().insert(ServedOperation(OPERATION));
    response
}

/// Returns the bytes of the file that an address names; 404 for an invalid address or a missing
/// file.
async fn open(service: &Arc<Service>, address: Option<FileAddress>) -> Result<Response> {
    let not_found = || Error::not_found("File");
    let signer = service
        .app_state
        .extension::<PhotoSigner>()
        .ok_or_else(not_found)?
        .signer(PURPOSE)?;
    let now = service.clock.now().as_second();
    let address = address
        .filter(|address| now < address.expires && address.is_signed(&signer))
        .ok_or_else(not_found)?;
    let FileAddress {
        organization,
        file,
        is_view,
        ..
    } = address;
    let (key, document) = service
        .store
        .read(move |tx| find(tx, organization, file))
        .await?
        .ok_or_else(not_found)?;
    let uploads = service
        .app_state
        .extension::<Uploads>()
        .ok_or_else(|| Error::unavailable("--uploads-url is not set"))?;
    let reading = uploads
        .files
        .read(&key)
        .await
        .map_err(Error::unavailable)?
        .ok_or_else(not_found)?;
    let disposition = disposition(
        &document.name,
        is_view && is_inline_type(&document.content_type),
    );
    Response::builder()
        .header(CONTENT_TYPE, document.content_type)
        .header(CONTENT_LENGTH, reading.size)
        .header(CONTENT_DISPOSITION, disposition)
        .body(Body::from_stream(reading.stream))
        .map_err(Error::internal)
}

fn find(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    file: Uuid,
) -> Result<Option<(String, FileDocument)>> {
    let Some(row) = tx.row(&FILE, &values![organization, file])? else {
        return Ok(None);
    };
    let Json(document) = row.get(1)?;
    Ok(Some((row.get(0)?, document)))
}

/// Returns the `Content-Disposition` of a file, which tells a browser to show or to save it.
fn disposition(name: &str, is_shown: bool) -> String {
    let mut encoded = String::with_capacity(3 * name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            let digits = [byte >> 4, byte & 15].map(|digit| char::from_digit(u32::from(digit), 16));
            encoded.extend(
                digits
                    .into_iter()
                    .flatten()
                    .map(|digit| digit.to_ascii_uppercase()),
            );
        }
    }
    format!(
        "{}; filename*=UTF-8''{encoded}",
        if is_shown { "inline" } else { "attachment" }
    )
}

/// Parses an address; `None` if the text does not have the form of an address of this service.
fn parse_address((organization, file): &(String, String), query: &str) -> Option<FileAddress> {
    let uuid = |text: &str| format::is_uuid(text).then(|| text.parse().ok()).flatten();
    let parameter = |key: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    };
    Some(FileAddress {
        organization: uuid(organization)?,
        file: uuid(file)?,
        expires: parameter("expires")?.parse().ok()?,
        is_view: parameter("view").is_some(),
        signature: parameter("signature")?.into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn any_file_name_is_encoded_in_content_disposition() {
        assert_eq!(
            disposition("pass port.jpg", false),
            "attachment; filename*=UTF-8''pass%20port.jpg"
        );
        assert_eq!(
            disposition("ä\";x=1.pdf", true),
            "inline; filename*=UTF-8''%C3%A4%22%3Bx%3D1.pdf"
        );
    }

    proptest! {
        #[test]
        fn every_file_name_gives_a_valid_header(name in any::<String>(), is_shown: bool) {
            let disposition = disposition(&name, is_shown);
            prop_assert!(HeaderValue::from_str(&disposition).is_ok());
            prop_assert_eq!(disposition.matches(';').count(), 1);
        }
    }
}

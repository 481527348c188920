//! The API keys of the organization. A list shows each key with its permissions, last use and last
//! change. If the server allows it (`--console-keys`), members can also create, rotate and revoke
//! keys.

use access::people::address;
use askama::Template;
use axum::response::Response;
use engine::access::Permission;
use features::platform::{
    ApiKeyView, CREATE_TEAM_API_KEY, ConsoleKeys, LIST_TEAM_API_KEYS, ROTATE_TEAM_API_KEY,
    TeamApiKey,
};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::super::audit::last_writes;
use super::super::frame::{CompletedAction, ConsoleFrame};
use super::super::paging::Paging;
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::ScreenResponse;
use super::super::time_format::{self, FormattedTime};
use super::super::webhooks::{MAX_GRACE, grace_hours, hours};
use super::super::words::permission_text;
use super::{AccessTab, ListPage, SCREEN, Tabs, may, tabs};

const REVOKE: &str = "revokeTeamApiKey";
const PATH: &str = "/access/keys";
/// `PAGE_SIZE` is the number of keys that one call of the list operation returns. `MAX_CALLS` is
/// the maximum number of such calls when the console looks for one key.
const PAGE_SIZE: usize = 100;
const MAX_CALLS: usize = 10;

/// Reads the key that the path names.
async fn named(request: &ConsoleRequest) -> Result<TeamApiKey, ConsoleRefusal> {
    let id = request.path_id("id")?;
    for answer in 0..MAX_CALLS {
        let arguments = json!({ "limit": PAGE_SIZE, "offset": answer * PAGE_SIZE });
        let keys = request.read(LIST_TEAM_API_KEYS, arguments).await?;
        let is_last = keys.len() < PAGE_SIZE;
        if let Some(found) = keys.iter().find(|key| key.id == id) {
            return Ok(found.clone());
        }
        if is_last {
            break;
        }
    }
    Err(ConsoleRefusal::missing())
}

struct KeyRow {
    name: String,
    may: String,
    made: FormattedTime,
    expires: Option<FormattedTime>,
    has_expired: bool,
    last: Option<FormattedTime>,
    /// A sentence about the last change of the key, and the time of the change.
    written: Option<(String, FormattedTime)>,
    /// The path of the page with the key's entries in the audit log. `None` for members who can
    /// access only some of the flats, because the log shows them only their own actions.
    history: Option<String>,
    rotate: Option<String>,
    revoke: Option<String>,
}

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys<'v> {
    frame: ConsoleFrame<'v>,
    tabs: Tabs,
    rows: Vec<KeyRow>,
    paging: Paging,
    new: Option<String>,
    /// Path of the guide that explains how to create keys in a shell.
    how: String,
}

/// Returns whether the member may create and revoke keys in the console. The server must allow it,
/// and the member must manage the whole organization.
fn are_made_here(request: &ConsoleRequest) -> bool {
    request
        .service
        .app_state
        .extension::<ConsoleKeys>()
        .is_some_and(|keys| keys.0)
        && request.manages_whole_organization()
}

fn row(
    request: &ConsoleRequest,
    TeamApiKey {
        id,
        key,
        created_at,
        last_used_at,
        ..
    }: &TeamApiKey,
    written: Option<(String, FormattedTime)>,
    are_made_here: bool,
) -> KeyRow {
    let id = id.to_string();
    let way = |place: &str| are_made_here.then(|| request.address(&format!("{PATH}/{id}/{place}")));
    let has_expired = key
        .expires_at
        .is_some_and(|at| at.0 <= request.service.clock.now());
    KeyRow {
        may: may(request, &key.permissions),
        made: time_format::of(request, *created_at),
        expires: time_format::of_any(request, key.expires_at),
        has_expired,
        last: time_format::of_any(request, *last_used_at),
        written,
        history: request
            .manages_whole_organization()
            .then(|| request.address_with("/audit", &[("actor", &id)])),
        // Rotation does not change the expiry of a key. So the page does not offer to rotate an
        // expired key.
        rotate: way("rotate").filter(|_| !has_expired),
        revoke: way("revoke"),
        name: key.name.clone(),
    }
}

pub(super) fn list(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let ListPage { rows, paging } = ListPage::of(request, LIST_TEAM_API_KEYS, PATH).await?;
        let are_made_here = are_made_here(request);
        let writes: Vec<_> = rows
            .iter()
            .filter_map(|one| Some((one.key.name.as_str(), one.last_write.as_ref()?)))
            .collect();
        let mut messages = last_writes(request, &writes).await.into_iter();
        let written = rows.iter().map(|one| {
            Some((
                time_format::of(request, one.last_write.as_ref()?.occurred_at),
                messages.next()?,
            ))
        });
        let written: Vec<_> = written
            .map(|written| written.map(|(at, messages)| (messages, at)))
            .collect();
        let page = Keys {
            frame: ConsoleFrame::new(request, request.texts.access.access),
            tabs: tabs(request, AccessTab::Keys),
            rows: rows
                .iter()
                .zip(written)
                .map(|(one, written)| row(request, one, written, are_made_here))
                .collect(),
            paging,
            new: are_made_here.then(|| request.address(&format!("{PATH}/new"))),
            how: address(&request.service, "/docs/how-to/load-first-data.md"),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "key-new.html")]
struct NewKey<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    name: String,
    expires: String,
    /// The permissions that the member may grant to the key. Each has its name, its label, and
    /// whether its box is ticked.
    permissions: Vec<(&'static str, &'static str, bool)>,
    messages: Vec<String>,
    is_kept: bool,
}

fn form(
    request: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    if !are_made_here(request) {
        return Err(ConsoleRefusal::missing());
    }
    let words = &request.texts.access;
    let chosen = |name: &str| {
        request
            .fields
            .iter()
            .any(|(known, value)| known == "permission" && value == name)
    };
    let own = Permission::VARIANTS
        .iter()
        .copied()
        .filter(|permission| request.has_permission(*permission));
    let FormAttempt {
        status,
        messages,
        is_returned: is_kept,
    } = FormAttempt::of(request, refused.as_ref());
    let page = NewKey {
        frame: ConsoleFrame::new(request, words.new_key)
            .with_parent(request, words.access, SCREEN.path)
            .with_parent(request, words.keys, PATH),
        action: request.address(&format!("{PATH}/new")),
        key: request.form_key(),
        name: request.form_value("name").unwrap_or_default().to_owned(),
        expires: request
            .form_value("expiresAt")
            .unwrap_or_default()
            .to_owned(),
        permissions: own
            .map(|permission| {
                let name: &'static str = permission.into();
                (name, permission_text(words, permission), chosen(name))
            })
            .collect(),
        messages,
        is_kept,
    };
    Ok(reply::page_of_template(request, status, &page))
}

pub(super) fn new(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(std::future::ready(form(request, None)))
}

pub(super) fn create(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return form(request, None);
        }
        let permissions: Vec<&str> = request
            .fields
            .iter()
            .filter(|(name, _)| name == "permission")
            .map(|(_, value)| value.as_str())
            .collect();
        let expires = request
            .form_value("expiresAt")
            .map(str::trim)
            .filter(|text| !text.is_empty());
        // An expiry that is not a valid time is sent to the operation as it was typed. The
        // operation refuses it with a message.
        let expires = expires.map(|text| {
            time_format::parse_local(text, &TimeZone::UTC).unwrap_or_else(|| text.to_owned())
        });
        let arguments = json!({
            "name": request.form_value("name").unwrap_or_default(),
            "permissions": permissions,
            "expiresAt": expires,
        });
        let created = request
            .create_as(
                CREATE_TEAM_API_KEY,
                arguments,
                &request.key(CREATE_TEAM_API_KEY.id()),
            )
            .await;
        match ConsoleRefusal::split_by_input(created)? {
            Ok(created) => Ok(token_page(request, &created)),
            Err(refusal) => form(request, Some(refusal)),
        }
    })
}

#[derive(Template)]
#[template(path = "key-token.html")]
struct CreatedKeyPage<'v> {
    frame: ConsoleFrame<'v>,
    name: &'v str,
    token: Option<&'v str>,
    way: String,
    rotate: String,
}

/// Returns the page that shows a new token. The page is the response to the form and has no
/// address, so a browser cannot open it later. If the member sends the form a second time, the
/// response does not contain the token.
fn token_page<'v>(request: &'v ConsoleRequest, made: &'v ApiKeyView) -> Response {
    let words = &request.texts.access;
    let frame = ConsoleFrame::new(request, words.token)
        .with_parent(request, words.access, SCREEN.path)
        .with_parent(request, words.keys, PATH);
    let rotate = request.address(&format!("{PATH}/{}/rotate", made.id));
    reply::page_of_template(
        request,
        200,
        &CreatedKeyPage {
            frame,
            name: &made.key.name,
            token: made.token.as_deref(),
            way: request.address(PATH),
            rotate,
        },
    )
}

#[derive(Template)]
#[template(path = "key-ask.html")]
struct KeyConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    name: String,
    about: &'static str,
    submit: &'static str,
    action: String,
    back: String,
    key: String,
    /// The hours for which the old token stays valid after a rotation: the text in the form, and
    /// the maximum. `None` on the page that revokes the key.
    grace: Option<(String, u64)>,
    messages: Vec<String>,
    is_kept: bool,
}

/// Shows the page that asks the member to confirm a change of an API key: a new token if
/// `is_rotated` is true, otherwise the revocation.
async fn ask(
    request: &ConsoleRequest,
    is_rotated: bool,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    if !are_made_here(request) {
        return Err(ConsoleRefusal::missing());
    }
    let words = &request.texts.access;
    let one = named(request).await?;
    let (title, about, place) = if is_rotated {
        (words.rotate, words.rotate_about, "rotate")
    } else {
        (words.revoke, words.revoke_about, "revoke")
    };
    let FormAttempt {
        status,
        messages,
        is_returned: is_kept,
    } = FormAttempt::of(request, refused.as_ref());
    let page = KeyConfirmation {
        frame: ConsoleFrame::new(request, title)
            .with_parent(request, words.access, SCREEN.path)
            .with_parent(request, words.keys, PATH),
        action: request.address(&format!("{PATH}/{}/{place}", one.id)),
        back: request.address(PATH),
        key: request.new_key(),
        grace: is_rotated.then(|| (grace_hours(request), MAX_GRACE)),
        name: one.key.name,
        about,
        submit: title,
        messages,
        is_kept,
    };
    Ok(reply::page_of_template(request, status, &page))
}

pub(super) fn ask_to_rotate(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(ask(request, true, None))
}

pub(super) fn rotate(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return ask(request, true, None).await;
        }
        let arguments =
            json!({ "apiKeyId": request.path_id("id")?, "graceSeconds": hours(request) });
        match request
            .create_as(
                ROTATE_TEAM_API_KEY,
                arguments,
                &request.key(ROTATE_TEAM_API_KEY.id()),
            )
            .await
        {
            Ok(made) => Ok(token_page(request, &made)),
            Err(refusal) if refusal.status == 400 => ask(request, true, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}

pub(super) fn ask_to_revoke(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(ask(request, false, None))
}

pub(super) fn revoke(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return ask(request, false, None).await;
        }
        request
            .get::<Value>(REVOKE, json!({ "apiKeyId": request.path_id("id")? }))
            .await?;
        Ok(reply::redirect_with_confirmation(
            request,
            PATH,
            CompletedAction::Removed,
        ))
    })
}

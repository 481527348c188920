//! API keys: a list with permissions, last use and last change. If the server allows it
//! (`--console-keys`), members can also create, rotate and revoke keys.

use askama::Template;
use axum::response::Response;
use engine::access::Permission;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::super::audit::last_writes;
use super::super::frame::{CompletedAction, ConsoleFrame};
use super::super::paging::Paging;
use super::super::refusal::{ConsoleRefusal, FormAttempt};
use super::super::reply;
use super::super::screens::ScreenAnswer;
use super::super::visit::ConsoleRequest;
use super::super::webhooks::{LONGEST, grace, hours};
use super::super::when::{self, When};
use super::{AccessTab, ListPage, SCREEN, Tabs, may, tabs};
use crate::people::address;
use crate::platform::{
    ApiKeyView, CREATE_TEAM_API_KEY, ConsoleKeys, LIST_TEAM_API_KEYS, ROTATE_TEAM_API_KEY,
    TeamApiKey,
};

const REVOKE: &str = "revokeTeamApiKey";
const PATH: &str = "/access/keys";
/// `MOST` is the number of keys in one response. `ANSWERS` is the maximum number of responses that
/// are searched for a key.
const MOST: usize = 100;
const ANSWERS: usize = 10;

/// Reads the key that the path names.
async fn named(visit: &ConsoleRequest) -> Result<TeamApiKey, ConsoleRefusal> {
    let id = visit.named("id")?;
    for answer in 0..ANSWERS {
        let arguments = json!({ "limit": MOST, "offset": answer * MOST });
        let keys = visit.read(LIST_TEAM_API_KEYS, arguments).await?;
        let is_last = keys.len() < MOST;
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
    made: When,
    expires: Option<When>,
    has_expired: bool,
    last: Option<When>,
    /// A sentence about the last change of the key, and the time of the change.
    written: Option<(String, When)>,
    /// Address of the key's entries in the audit log. `None` for limited members, who may not read
    /// the log.
    history: Option<String>,
    rotate: Option<String>,
    revoke: Option<String>,
}

#[derive(Template)]
#[template(path = "console/keys.html")]
struct Keys<'v> {
    frame: ConsoleFrame<'v>,
    tabs: Tabs,
    rows: Vec<KeyRow>,
    paging: Paging,
    new: Option<String>,
    /// Address of the guide that explains how to create keys in a shell.
    how: String,
}

/// Returns whether the member may create and revoke keys. The server must allow it, and the member
/// must manage the whole organization.
fn are_made_here(visit: &ConsoleRequest) -> bool {
    visit
        .service
        .app_state
        .extension::<ConsoleKeys>()
        .is_some_and(|keys| keys.0)
        && visit.answers_for_organization()
}

fn row(
    visit: &ConsoleRequest,
    TeamApiKey {
        id,
        key,
        created_at,
        last_used_at,
        ..
    }: &TeamApiKey,
    written: Option<(String, When)>,
    are_made_here: bool,
) -> KeyRow {
    let id = id.to_string();
    let way = |place: &str| are_made_here.then(|| visit.address(&format!("{PATH}/{id}/{place}")));
    let has_expired = key
        .expires_at
        .is_some_and(|at| at.0 <= visit.service.clock.now());
    KeyRow {
        may: may(visit, &key.permissions),
        made: when::of(visit, *created_at),
        expires: when::of_any(visit, key.expires_at),
        has_expired,
        last: when::of_any(visit, *last_used_at),
        written,
        history: visit
            .answers_for_organization()
            .then(|| visit.address_with("/audit", &[("actor", &id)])),
        // An expired key could be rotated but would stay expired.
        rotate: way("rotate").filter(|_| !has_expired),
        revoke: way("revoke"),
        name: key.name.clone(),
    }
}

pub(super) fn list(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        let ListPage { rows, paging } = ListPage::of(visit, LIST_TEAM_API_KEYS, PATH).await?;
        let are_made_here = are_made_here(visit);
        let writes: Vec<_> = rows
            .iter()
            .filter_map(|one| Some((one.key.name.as_str(), one.last_write.as_ref()?)))
            .collect();
        let mut messages = last_writes(visit, &writes).await.into_iter();
        let written = rows.iter().map(|one| {
            Some((
                when::of(visit, one.last_write.as_ref()?.occurred_at),
                messages.next()?,
            ))
        });
        let written: Vec<_> = written
            .map(|written| written.map(|(at, messages)| (messages, at)))
            .collect();
        let page = Keys {
            frame: ConsoleFrame::new(visit, visit.words.access.access),
            tabs: tabs(visit, AccessTab::Keys),
            rows: rows
                .iter()
                .zip(written)
                .map(|(one, written)| row(visit, one, written, are_made_here))
                .collect(),
            paging,
            new: are_made_here.then(|| visit.address(&format!("{PATH}/new"))),
            how: address(&visit.service, "/docs/how-to/load-first-data.md"),
        };
        Ok(reply::of(visit, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "console/key-new.html")]
struct NewKey<'v> {
    frame: ConsoleFrame<'v>,
    action: String,
    key: String,
    name: String,
    expires: String,
    /// The permissions that the member may grant: name, label, and whether the box is ticked.
    permissions: Vec<(&'static str, &'static str, bool)>,
    messages: Vec<String>,
    is_kept: bool,
}

fn form(
    visit: &ConsoleRequest,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    if !are_made_here(visit) {
        return Err(ConsoleRefusal::missing());
    }
    let words = &visit.words.access;
    let chosen = |name: &str| {
        visit
            .fields
            .iter()
            .any(|(known, value)| known == "permission" && value == name)
    };
    let own = Permission::VARIANTS
        .iter()
        .filter(|permission| visit.holds(**permission))
        .map(AsRef::as_ref);
    let FormAttempt {
        status,
        of: messages,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = NewKey {
        frame: ConsoleFrame::new(visit, words.new_key)
            .below(visit, words.access, SCREEN.path)
            .below(visit, words.keys, PATH),
        action: visit.address(&format!("{PATH}/new")),
        key: visit.form_key(),
        name: visit.sent("name").unwrap_or_default().to_owned(),
        expires: visit.sent("expiresAt").unwrap_or_default().to_owned(),
        permissions: own
            .map(|name: &'static str| (name, words.permission(name), chosen(name)))
            .collect(),
        messages,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn new(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(std::future::ready(form(visit, None)))
}

pub(super) fn create(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return form(visit, None);
        }
        let permissions: Vec<&str> = visit
            .fields
            .iter()
            .filter(|(name, _)| name == "permission")
            .map(|(_, value)| value.as_str())
            .collect();
        let expires = visit
            .sent("expiresAt")
            .map(str::trim)
            .filter(|text| !text.is_empty());
        // Invalid input is passed on as typed, so that the operation refuses it.
        let expires = expires
            .map(|text| when::typed(text, &TimeZone::UTC).unwrap_or_else(|| text.to_owned()));
        let arguments = json!({ "name": visit.sent("name").unwrap_or_default(), "permissions": permissions, "expiresAt": expires });
        let made = visit
            .create_as(
                CREATE_TEAM_API_KEY,
                arguments,
                &visit.key(CREATE_TEAM_API_KEY.id()),
            )
            .await;
        match ConsoleRefusal::of_what_was_sent(created)? {
            Ok(created) => Ok(token_page(visit, &created)),
            Err(refusal) => form(visit, Some(refusal)),
        }
    })
}

#[derive(Template)]
#[template(path = "console/key-token.html")]
struct CreatedKeyPage<'v> {
    frame: ConsoleFrame<'v>,
    name: &'v str,
    token: Option<&'v str>,
    way: String,
    rotate: String,
}

/// Returns the page that shows a token. The page is the answer to the form, so no address shows the
/// token again. Sending the form again does not show it either.
fn token_page<'v>(visit: &'v ConsoleRequest, made: &'v ApiKeyView) -> Response {
    let words = &visit.words.access;
    let frame = ConsoleFrame::new(visit, words.token)
        .below(visit, words.access, SCREEN.path)
        .below(visit, words.keys, PATH);
    let rotate = visit.address(&format!("{PATH}/{}/rotate", made.id));
    reply::of(
        visit,
        200,
        &CreatedKeyPage {
            frame,
            name: &made.key.name,
            token: made.token.as_deref(),
            way: visit.address(PATH),
            rotate,
        },
    )
}

#[derive(Template)]
#[template(path = "console/key-ask.html")]
struct KeyConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    name: String,
    about: &'static str,
    submit: &'static str,
    action: String,
    back: String,
    key: String,
    /// The number of hours for which the old token stays valid, and the maximum. `None` if the key
    /// is revoked instead of rotated.
    grace: Option<(String, u64)>,
    messages: Vec<String>,
    is_kept: bool,
}

/// Shows the confirmation before a key is revoked or rotated.
async fn ask(
    visit: &ConsoleRequest,
    is_rotated: bool,
    refused: Option<ConsoleRefusal>,
) -> Result<Response, ConsoleRefusal> {
    if !are_made_here(visit) {
        return Err(ConsoleRefusal::missing());
    }
    let words = &visit.words.access;
    let one = named(visit).await?;
    let (title, about, place) = if is_rotated {
        (words.rotate, words.rotate_about, "rotate")
    } else {
        (words.revoke, words.revoke_about, "revoke")
    };
    let FormAttempt {
        status,
        of: messages,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = KeyConfirmation {
        frame: ConsoleFrame::new(visit, title)
            .below(visit, words.access, SCREEN.path)
            .below(visit, words.keys, PATH),
        action: visit.address(&format!("{PATH}/{}/{place}", one.id)),
        back: visit.address(PATH),
        key: visit.new_key(),
        grace: is_rotated.then(|| (grace(visit), LONGEST)),
        name: one.key.name,
        about,
        submit: title,
        messages,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn ask_to_rotate(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(ask(visit, true, None))
}

pub(super) fn rotate(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask(visit, true, None).await;
        }
        let arguments = json!({ "apiKeyId": visit.named("id")?, "graceSeconds": hours(visit) });
        match visit
            .create_as(
                ROTATE_TEAM_API_KEY,
                arguments,
                &visit.key(ROTATE_TEAM_API_KEY.id()),
            )
            .await
        {
            Ok(made) => Ok(token_page(visit, &made)),
            Err(refusal) if refusal.status == 400 => ask(visit, true, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}

pub(super) fn ask_to_revoke(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(ask(visit, false, None))
}

pub(super) fn revoke(visit: &ConsoleRequest) -> ScreenAnswer<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask(visit, false, None).await;
        }
        visit
            .get::<Value>(REVOKE, json!({ "apiKeyId": visit.named("id")? }))
            .await?;
        Ok(reply::done(visit, PATH, CompletedAction::Removed))
    })
}

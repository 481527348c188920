//! API keys: their permissions, last use and last change. If the service allows it, members can
//! also create, rotate and revoke keys here.

use askama::Template;
use axum::response::Response;
use engine::access::Permission;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use super::super::audit::{LastWrite, last_writes};
use super::super::frame::{Done, Frame};
use super::super::paging::Paging;
use super::super::refusal::{FormAttempt, Refusal};
use super::super::reply;
use super::super::screens::Answering;
use super::super::visit::Visit;
use super::super::webhooks::{LONGEST, grace, hours};
use super::super::when::{self, When};
use super::{Listed, SCREEN, Tab, Tabs, may, tabs};
use crate::people::address;
use crate::platform::ConsoleKeys;

pub(super) const LIST: &str = "listTeamApiKeys";
const CREATE: &str = "createTeamApiKey";
const ROTATE: &str = "rotateTeamApiKey";
const REVOKE: &str = "revokeTeamApiKey";
const PATH: &str = "/access/keys";
/// `MOST` is the number of keys in one answer, `ANSWERS` the maximum number of answers that are
/// searched for a key.
const MOST: usize = 100;
const ANSWERS: usize = 10;

/// A key, as `listTeamApiKeys` returns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    id: Uuid,
    name: String,
    permissions: Vec<String>,
    expires_at: Option<String>,
    created_at: String,
    last_used_at: Option<String>,
    last_write: Option<LastWrite>,
}

/// A key that was created or rotated.
#[derive(Debug, Deserialize)]
struct Made {
    id: Uuid,
    name: String,
    /// `None` if the form was sent a second time.
    token: Option<String>,
}

impl Key {
    /// Reads the key that the path names.
    async fn named(visit: &Visit) -> Result<Self, Refusal> {
        let id = visit.named("id")?;
        for answer in 0..ANSWERS {
            let keys: Vec<Self> = visit
                .get(LIST, json!({ "limit": MOST, "offset": answer * MOST }))
                .await?;
            let is_last = keys.len() < MOST;
            if let Some(found) = keys.into_iter().find(|key| key.id == id) {
                return Ok(found);
            }
            if is_last {
                break;
            }
        }
        Err(Refusal::missing())
    }
}

struct Row {
    name: String,
    may: String,
    made: When,
    expires: Option<When>,
    has_expired: bool,
    last: Option<When>,
    /// A sentence about its last change, and the time.
    written: Option<(String, When)>,
    /// Address of its entries in the audit log. Only members with access to all flats can read the
    /// log and the last changes.
    history: Option<String>,
    rotate: Option<String>,
    revoke: Option<String>,
}

#[derive(Template)]
#[template(path = "console/keys.html")]
struct Keys<'v> {
    frame: Frame<'v>,
    tabs: Tabs,
    rows: Vec<Row>,
    paging: Paging,
    new: Option<String>,
    /// Address of the guide on making keys in a shell.
    how: String,
}

/// Returns whether this member may create and revoke keys. The service must allow it, and the
/// member must manage the whole organization.
fn are_made_here(visit: &Visit) -> bool {
    visit
        .service
        .kit
        .part::<ConsoleKeys>()
        .is_some_and(|keys| keys.0)
        && visit.answers_for_organization()
}

fn row(visit: &Visit, key: Key, written: Option<(String, When)>, are_made_here: bool) -> Row {
    let id = key.id.to_string();
    let way = |place: &str| are_made_here.then(|| visit.address(&format!("{PATH}/{id}/{place}")));
    let has_expired = key
        .expires_at
        .as_deref()
        .and_then(|at| at.parse().ok())
        .is_some_and(|at: jiff::Timestamp| at <= visit.service.clock.now());
    Row {
        may: may(visit, &key.permissions),
        made: when::moment(visit, &key.created_at),
        expires: when::maybe(visit, key.expires_at.as_deref()),
        has_expired,
        last: when::maybe(visit, key.last_used_at.as_deref()),
        written,
        history: visit
            .answers_for_organization()
            .then(|| visit.address_with("/audit", &[("actor", &id)])),
        // An expired key could be rotated but would stay expired.
        rotate: way("rotate").filter(|_| !has_expired),
        revoke: way("revoke"),
        name: key.name,
    }
}

pub(super) fn list(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        let Listed { rows, paging } = Listed::<Key>::of(visit, LIST, PATH).await?;
        let are_made_here = are_made_here(visit);
        let writes: Vec<_> = rows
            .iter()
            .filter_map(|key| Some((key.name.as_str(), key.last_write.as_ref()?)))
            .collect();
        let mut said = last_writes(visit, &writes).await.into_iter();
        let written = rows.iter().map(|key| {
            Some((
                when::moment(visit, &key.last_write.as_ref()?.occurred_at),
                said.next()?,
            ))
        });
        let written: Vec<_> = written
            .map(|written| written.map(|(at, said)| (said, at)))
            .collect();
        let page = Keys {
            frame: Frame::new(visit, visit.words.access.access),
            tabs: tabs(visit, Tab::Keys),
            rows: rows
                .into_iter()
                .zip(written)
                .map(|(key, written)| row(visit, key, written, are_made_here))
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
struct New<'v> {
    frame: Frame<'v>,
    action: String,
    key: String,
    name: String,
    expires: String,
    /// The permissions that the member may give: name, label, and whether it is chosen.
    permissions: Vec<(&'static str, &'static str, bool)>,
    said: Vec<String>,
    is_kept: bool,
}

fn form(visit: &Visit, refused: Option<Refusal>) -> Result<Response, Refusal> {
    if !are_made_here(visit) {
        return Err(Refusal::missing());
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
        said,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = New {
        frame: Frame::new(visit, words.new_key)
            .below(visit, words.access, SCREEN.path)
            .below(visit, words.keys, PATH),
        action: visit.address(&format!("{PATH}/new")),
        key: visit.form_key(),
        name: visit.sent("name").unwrap_or_default().to_owned(),
        expires: visit.sent("expiresAt").unwrap_or_default().to_owned(),
        permissions: own
            .map(|name: &'static str| (name, words.permission(name), chosen(name)))
            .collect(),
        said,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn new(visit: &Visit) -> Answering<'_> {
    Box::pin(std::future::ready(form(visit, None)))
}

pub(super) fn create(visit: &Visit) -> Answering<'_> {
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
        // Invalid input is sent as typed, and the operation refuses it.
        let expires = expires
            .map(|text| when::typed(text, &TimeZone::UTC).unwrap_or_else(|| text.to_owned()));
        let arguments = json!({ "name": visit.sent("name").unwrap_or_default(), "permissions": permissions, "expiresAt": expires });
        let made = visit
            .create::<Made>(CREATE, arguments, &visit.key(CREATE))
            .await;
        match Refusal::of_what_was_sent(made)? {
            Ok(made) => Ok(shown(visit, &made)),
            Err(refusal) => form(visit, Some(refusal)),
        }
    })
}

#[derive(Template)]
#[template(path = "console/key-token.html")]
struct Shown<'v> {
    frame: Frame<'v>,
    name: &'v str,
    token: Option<&'v str>,
    way: String,
    rotate: String,
}

/// Returns the page that shows a token. The page is the answer to the form, so no address shows the
/// token again. Sending the form again does not show it either.
fn shown<'v>(visit: &'v Visit, made: &'v Made) -> Response {
    let words = &visit.words.access;
    let frame = Frame::new(visit, words.token)
        .below(visit, words.access, SCREEN.path)
        .below(visit, words.keys, PATH);
    let rotate = visit.address(&format!("{PATH}/{}/rotate", made.id));
    reply::of(
        visit,
        200,
        &Shown {
            frame,
            name: &made.name,
            token: made.token.as_deref(),
            way: visit.address(PATH),
            rotate,
        },
    )
}

#[derive(Template)]
#[template(path = "console/key-ask.html")]
struct Ask<'v> {
    frame: Frame<'v>,
    name: String,
    about: &'static str,
    submit: &'static str,
    action: String,
    back: String,
    key: String,
    /// The number of hours for which the old token stays valid, and its maximum. `None` if the key
    /// is revoked.
    grace: Option<(String, u64)>,
    said: Vec<String>,
    is_kept: bool,
}

/// Asks for a confirmation before a key is revoked or rotated.
async fn ask(
    visit: &Visit,
    is_rotated: bool,
    refused: Option<Refusal>,
) -> Result<Response, Refusal> {
    if !are_made_here(visit) {
        return Err(Refusal::missing());
    }
    let words = &visit.words.access;
    let key = Key::named(visit).await?;
    let (title, about, place) = if is_rotated {
        (words.rotate, words.rotate_about, "rotate")
    } else {
        (words.revoke, words.revoke_about, "revoke")
    };
    let FormAttempt {
        status,
        said,
        is_kept,
    } = FormAttempt::of(visit, refused.as_ref());
    let page = Ask {
        frame: Frame::new(visit, title)
            .below(visit, words.access, SCREEN.path)
            .below(visit, words.keys, PATH),
        action: visit.address(&format!("{PATH}/{}/{place}", key.id)),
        back: visit.address(PATH),
        key: visit.new_key(),
        grace: is_rotated.then(|| (grace(visit), LONGEST)),
        name: key.name,
        about,
        submit: title,
        said,
        is_kept,
    };
    Ok(reply::of(visit, status, &page))
}

pub(super) fn ask_to_rotate(visit: &Visit) -> Answering<'_> {
    Box::pin(ask(visit, true, None))
}

pub(super) fn rotate(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask(visit, true, None).await;
        }
        let arguments = json!({ "apiKeyId": visit.named("id")?, "graceSeconds": hours(visit) });
        match visit
            .create::<Made>(ROTATE, arguments, &visit.key(ROTATE))
            .await
        {
            Ok(made) => Ok(shown(visit, &made)),
            Err(refusal) if refusal.status == 400 => ask(visit, true, Some(refusal)).await,
            Err(refusal) => Err(refusal),
        }
    })
}

pub(super) fn ask_to_revoke(visit: &Visit) -> Answering<'_> {
    Box::pin(ask(visit, false, None))
}

pub(super) fn revoke(visit: &Visit) -> Answering<'_> {
    Box::pin(async move {
        if !visit.may_write() {
            return ask(visit, false, None).await;
        }
        visit
            .get::<Value>(REVOKE, json!({ "apiKeyId": visit.named("id")? }))
            .await?;
        Ok(reply::done(visit, PATH, Done::Removed))
    })
}

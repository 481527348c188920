//! The screen that shows who can access the organization: connected apps, members and API keys.

mod keys;
mod people;

use std::collections::BTreeMap;
use std::sync::Arc;

use access::oauth::{ConnectionView, LIST_CONNECTIONS};
use askama::Template;
use engine::access::Permission;
use engine::operation::OperationName;
use features::platform::{LIST_TEAM_MEMBERS, MemberView};
use features::words::fill;
use serde_json::{Value, json};
use uuid::Uuid;

use super::frame::{CompletedAction, ConsoleFrame};
use super::paging::{Paging, ROWS};
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::{Screen, ScreenGroup, ScreenPage, ScreenResponse};
use super::time_format::{self, FormattedTime};
use super::words::permission_text;

/// The screen with the tabs for connected apps, members and API keys.
pub static SCREEN: Screen = Screen {
    path: "/access",
    icon: "key-round",
    title: |words| words.access.access,
    group: ScreenGroup::Organization,
    needs: Some(CONNECTIONS),
    pages: &[
        ScreenPage::get("getConnectionsScreen", "/access", connections),
        ScreenPage::get("getMembersScreen", "/access/members", members)
            .with_needs(&["listTeamMembers"]),
        ScreenPage::get("getInviteScreen", "/access/members/new", people::new)
            .with_needs(&["inviteMember"]),
        ScreenPage::post(
            "inviteMemberOnScreen",
            "/access/members/new",
            people::create,
        )
        .with_needs(&["inviteMember"]),
        ScreenPage::get("getMemberScreen", "/access/members/{id}", people::show)
            .with_needs(&["listTeamMembers", "updateMember"]),
        ScreenPage::post("updateMemberOnScreen", "/access/members/{id}", people::save)
            .with_needs(&["listTeamMembers", "updateMember"]),
        ScreenPage::post(
            "linkMemberOnScreen",
            "/access/members/{id}/link",
            people::link,
        )
        .with_needs(&["listTeamMembers", "createMemberSignInLink"]),
        ScreenPage::get("getKeysScreen", "/access/keys", keys::list)
            .with_needs(&["listTeamApiKeys"]),
        ScreenPage::get("getNewKeyScreen", "/access/keys/new", keys::new)
            .with_needs(&["createTeamApiKey"]),
        ScreenPage::post("createKeyOnScreen", "/access/keys/new", keys::create)
            .with_needs(&["createTeamApiKey"]),
        ScreenPage::get(
            "getRotateKeyScreen",
            "/access/keys/{id}/rotate",
            keys::ask_to_rotate,
        )
        .with_needs(&["rotateTeamApiKey"]),
        ScreenPage::post(
            "rotateKeyOnScreen",
            "/access/keys/{id}/rotate",
            keys::rotate,
        )
        .with_needs(&["rotateTeamApiKey"]),
        ScreenPage::get(
            "getRevokeKeyScreen",
            "/access/keys/{id}/revoke",
            keys::ask_to_revoke,
        )
        .with_needs(&["revokeTeamApiKey"]),
        ScreenPage::post(
            "revokeKeyOnScreen",
            "/access/keys/{id}/revoke",
            keys::revoke,
        )
        .with_needs(&["revokeTeamApiKey"]),
        ScreenPage::get("getDisconnectScreen", "/access/end", ask)
            .with_needs(&["deleteConnection"]),
        ScreenPage::post("disconnectOnScreen", "/access/end", end)
            .with_needs(&["deleteConnection"]),
    ],
};

const CONNECTIONS: &str = LIST_CONNECTIONS.id();
const MEMBERS: &str = LIST_TEAM_MEMBERS.id();
const END: &str = "deleteConnection";
/// `PAGE_SIZE` is the number of rows that one call of a list operation returns. `MAX_CALLS` is the
/// maximum number of such calls when the console looks for one row.
const PAGE_SIZE: usize = 100;
const MAX_CALLS: usize = 5;

/// The tabs of the screen: label, address, and whether the tab is selected.
type Tabs = [(&'static str, String, bool); 3];

#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessTab {
    Apps,
    Members,
    Keys,
}

fn tabs(request: &ConsoleRequest, shown: AccessTab) -> Tabs {
    let words = &request.texts.access;
    [
        (words.apps, SCREEN.path, AccessTab::Apps),
        (words.members, "/access/members", AccessTab::Members),
        (words.keys, "/access/keys", AccessTab::Keys),
    ]
    .map(|(title, path, tab)| (title, request.address(path), tab == shown))
}

/// One page of a list, with links to the other pages.
struct ListPage<T> {
    rows: Arc<Vec<T>>,
    paging: Paging,
}

impl<T: Send + Sync + 'static> ListPage<T> {
    async fn of(
        request: &ConsoleRequest,
        operation: OperationName<Vec<T>>,
        path: &str,
    ) -> Result<Self, ConsoleRefusal> {
        let answer = request
            .read_page(
                operation,
                json!({ "limit": ROWS, "offset": Paging::offset(request) }),
            )
            .await?;
        Ok(Self {
            paging: Paging::of(request, path, answer.total.unwrap_or(answer.data.len())),
            rows: answer.data,
        })
    }
}

/// Returns the labels of permissions as one text, separated by commas. Without permissions, returns
/// a built-in text.
fn may(request: &ConsoleRequest, permissions: &[Permission]) -> String {
    let words = &request.texts.access;
    let all: Vec<&str> = permissions
        .iter()
        .map(|permission| permission_text(words, *permission))
        .collect();
    if all.is_empty() {
        words.nothing.to_owned()
    } else {
        all.join(", ")
    }
}

/// Returns the names of the organization's members, by the id of the member.
async fn names(request: &ConsoleRequest) -> Result<BTreeMap<Uuid, String>, ConsoleRefusal> {
    let mut names = BTreeMap::new();
    for answer in 0..MAX_CALLS {
        let arguments = json!({ "limit": PAGE_SIZE, "offset": answer * PAGE_SIZE });
        let members = request.read(LIST_TEAM_MEMBERS, arguments).await?;
        let is_last = members.len() < PAGE_SIZE;
        names.extend(
            members
                .iter()
                .map(|view| (view.id, view.member.name.clone())),
        );
        if is_last {
            break;
        }
    }
    Ok(names)
}

struct AppRow {
    name: String,
    about: String,
    resource: String,
    may: String,
    since: FormattedTime,
    last: FormattedTime,
    end: Option<String>,
}

#[derive(Template)]
#[template(path = "connections.html")]
struct Connections<'v> {
    frame: ConsoleFrame<'v>,
    tabs: Tabs,
    rows: Vec<AppRow>,
    paging: Paging,
    /// Address of the guide that explains how to connect an assistant.
    how: String,
}

fn connections(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.access;
        let ListPage { rows, paging } =
            ListPage::of(request, LIST_CONNECTIONS, SCREEN.path).await?;
        let names = names(request).await?;
        let row = |one: &ConnectionView| {
            let member = one.member_id.to_string();
            let called = names.get(&one.member_id).unwrap_or(&member);
            let query = [
                ("app", one.oauth_app_id.as_str()),
                ("member", member.as_str()),
            ];
            AppRow {
                name: one.name.clone(),
                about: fill(
                    words.on_behalf,
                    &[("name", called), ("host", &one.redirect_host)],
                ),
                resource: one.resource.clone(),
                may: may(request, &one.scopes),
                since: time_format::of(request, one.connected_at),
                last: time_format::of(request, one.last_used_at),
                end: request
                    .may(END)
                    .then(|| request.address_with("/access/end", &query)),
            }
        };
        let page = Connections {
            frame: ConsoleFrame::new(request, words.access),
            tabs: tabs(request, AccessTab::Apps),
            rows: rows.iter().map(row).collect(),
            paging,
            how: access::people::address(&request.service, "/docs/how-to/connect-an-assistant.md"),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

struct MemberRow {
    name: String,
    email: String,
    may: String,
    flats: String,
    is_active: bool,
    has_two_factors: bool,
    /// Address of the page that changes the member. `None` if the signed-in member can access only
    /// some flats, and so may not change members.
    way: Option<String>,
}

#[derive(Template)]
#[template(path = "members.html")]
struct Members<'v> {
    frame: ConsoleFrame<'v>,
    tabs: Tabs,
    rows: Vec<MemberRow>,
    paging: Paging,
    /// Address of the page that invites a member. `None` if the member may not invite.
    new: Option<String>,
}

fn members(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.access;
        let ListPage { rows, paging } =
            ListPage::of(request, LIST_TEAM_MEMBERS, "/access/members").await?;
        let row = |MemberView { id, member, .. }: &MemberView| MemberRow {
            may: may(request, &member.permissions),
            flats: match &member.property_ids {
                None => words.all_flats.to_owned(),
                Some(ids) => words.flats.of(ids.len()),
            },
            name: if member.name.trim().is_empty() {
                member.email.clone()
            } else {
                member.name.clone()
            },
            email: member.email.clone(),
            is_active: member.is_active,
            way: request
                .manages_whole_organization()
                .then(|| request.address(&format!("/access/members/{id}"))),
            has_two_factors: member.is_two_factor_enrolled,
        };
        let rows = rows.iter().map(row).collect();
        let page = Members {
            frame: ConsoleFrame::new(request, words.access),
            tabs: tabs(request, AccessTab::Members),
            rows,
            paging,
            new: request
                .manages_whole_organization()
                .then(|| request.address("/access/members/new")),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[derive(Template)]
#[template(path = "disconnect.html")]
struct AccessConfirmation<'v> {
    frame: ConsoleFrame<'v>,
    about: String,
    action: String,
    back: String,
}

/// Reads the connection of an app to a member. The query parameters `app` and `member` name both.
async fn named(request: &ConsoleRequest) -> Result<ConnectionView, ConsoleRefusal> {
    let (app, member) = (
        request.query_parameter("app").unwrap_or_default(),
        request.query_parameter("member").unwrap_or_default(),
    );
    for answer in 0..MAX_CALLS {
        let arguments = json!({ "limit": PAGE_SIZE, "offset": answer * PAGE_SIZE });
        let connections = request.read(LIST_CONNECTIONS, arguments).await?;
        let is_last = connections.len() < PAGE_SIZE;
        if let Some(found) = connections
            .iter()
            .find(|one| one.oauth_app_id == app && one.member_id.to_string() == member)
        {
            return Ok(found.clone());
        }
        if is_last {
            break;
        }
    }
    Err(ConsoleRefusal::missing())
}

fn ask(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.access;
        let one = named(request).await?;
        let member = one.member_id.to_string();
        let called = names(request)
            .await?
            .remove(&one.member_id)
            .unwrap_or_else(|| member.clone());
        let page = AccessConfirmation {
            frame: ConsoleFrame::new(request, fill(words.end_title, &[("app", &one.name)]))
                .with_parent(request, words.access, SCREEN.path),
            about: fill(words.end_about, &[("name", &called)]),
            action: request.address_with(
                "/access/end",
                &[("app", &one.oauth_app_id), ("member", &member)],
            ),
            back: request.address(SCREEN.path),
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

fn end(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        if !request.may_write() {
            return ask(request).await;
        }
        let (app, member) = (
            request.query_parameter("app").unwrap_or_default(),
            request.query_parameter("member").unwrap_or_default(),
        );
        request
            .get::<Value>(END, json!({ "oauthAppId": app, "memberId": member }))
            .await?;
        Ok(reply::redirect_with_confirmation(
            request,
            SCREEN.path,
            CompletedAction::Removed,
        ))
    })
}

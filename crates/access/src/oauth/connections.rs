//! Operations on the connected apps of an organization: `listConnections` and `deleteConnection`. A
//! connection consists of all grants of a member to an app for a resource.

use std::collections::BTreeSet;

use engine::access::{Permission, Resource};
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::moment::Moment;
use engine::operation::{Listing, Needs, Nothing, Operation, OperationName, Page, PageLimits};
use engine::values;
use features::platform::{AppConnection, CredentialSuccess, OauthApp, member_target};
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Json, Row};
use uuid::Uuid;

use super::client::ClientId;
use super::grant::GrantData;
use super::redirect;

store::statements! {
    /// Selects a page of connections, ordered by the time at which the first code was exchanged.
    /// All grants of a member to an app for one resource form one connection.
    LIST = "select g.oauth_app_id, g.member_id, g.resource, min(g.exchanged_at), max(g.used_at),
        a.document_url, a.doc from oauth_grant g
        join oauth_app a on a.id = g.oauth_app_id
        where g.organization_id = ?1 and g.exchanged_at is not null and g.expires_at > ?2
        group by g.oauth_app_id, g.member_id, g.resource, a.document_url, a.doc
        order by min(g.exchanged_at), g.oauth_app_id, g.member_id, g.resource limit ?3 offset ?4";
    /// Returns the number of connections.
    COUNT = "select count(*) from (select 1 from oauth_grant where organization_id = ?1
        and exchanged_at is not null and expires_at > ?2
        group by oauth_app_id, member_id, resource) as connection";
    /// Selects the grants of these members to these apps, ordered by the time at which the app
    /// exchanged the authorization code.
    GRANTS = "select oauth_app_id, member_id, resource, doc from oauth_grant
        where organization_id = ?1 and exchanged_at is not null
        and expires_at > ?2 and oauth_app_id = any(?3) and member_id = any(?4)
        order by exchanged_at, id";
    /// Selects the app with a metadata document at this address. Apps belong to no organization, so
    /// the join only checks that the organization is not erased.
    APP_OF_DOCUMENT = "select a.id from oauth_app a join organization o on o.id = ?1
        where a.document_url = ?2 and o.erased_at is null";
}

/// The operation that lists the apps that members have connected.
pub const LIST_CONNECTIONS: OperationName<Vec<ConnectionView>> =
    OperationName::new("listConnections");

/// The default and the maximum number of connections on a page of the list.
const PAGES: PageLimits = PageLimits {
    default: 50,
    max: 100,
};

/// A connection of an app: all grants of a member to the app for one resource.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "oauthAppId": "https://app.example/client.json",
    "memberId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "name": "Notes",
    "redirectHost": "app.example",
    "scopes": ["view_properties"],
    "resource": "https://stay.example/mcp",
    "connectedAt": "2026-11-21T09:30:00.000Z",
    "lastUsedAt": "2026-11-21T10:30:00.000Z",
}))]
pub struct ConnectionView {
    /// The app's `client_id`: an id, or the https address of the app's metadata document.
    pub oauth_app_id: String,
    /// The member who connected the app.
    pub member_id: Uuid,
    /// Name of the app; verified only for apps that the platform knows.
    pub name: String,
    /// Host of the redirect address. For an app with its own scheme, the scheme, such as
    /// `com.example.app`.
    pub redirect_host: String,
    /// Granted scopes, without those that the member no longer holds.
    pub scopes: Vec<Permission>,
    /// URL of the interface to which the app sends its requests, such as the tool interface at
    /// `/mcp`.
    pub resource: String,
    /// When the app was first connected. Expired grants are ignored.
    pub connected_at: Moment,
    /// When the app last fetched tokens. A token is valid for an hour, so the app may have sent
    /// requests for an hour longer.
    pub last_used_at: Moment,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RevokedConnection {
    /// The app's `client_id`, from `listConnections`. In a path it is percent-encoded.
    #[schemars(length(max = 2_000))]
    oauth_app_id: String,
    /// The member from whom the app is disconnected. Other members stay connected.
    member_id: Uuid,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_CONNECTIONS.id(),
            Method::GET,
            "/connections",
            Needs::Permission(Permission::ManageOrganization),
        )
        .tool(
            "records",
            "List connected apps",
            "Apps and assistants that members have connected, what each may do and when it was \
                last used. End one with `deleteConnection`.",
        )
        .pages_as(LIST_CONNECTIONS, PAGES, list),
        Operation::public(
            "deleteConnection",
            Method::DELETE,
            "/connections/{oauthAppId}/{memberId}",
            Needs::Permission(Permission::ManageOrganization),
        )
        .tool(
            "records",
            "Disconnect an app",
            "Disconnects an app from a member, by both ids as `listConnections` gives them: its \
                tokens stop working at once and its webhook subscriptions are disabled. It may be \
                you.",
        )
        .audited(Audits::acts_on(member_target).recording(&["oauthAppId"]))
        .run(delete),
    ]
}

/// The key of a connection: the ids of the app and the member, and the resource.
type ConnectionKey = (Uuid, Uuid, String);

fn list(context: &mut Context<'_, '_>, _: Nothing, page: Page) -> Result<Listing<ConnectionView>> {
    let now = context.now();
    let total = context
        .row(&COUNT, values![now])?
        .map_or(Ok(0), |row| row.get(0))?;
    let rows = context.rows(&LIST, values![now, page.limit, page.offset])?;
    let ids = |column: usize| {
        rows.iter()
            .map(|row| row.get(column))
            .collect::<store::Result<BTreeSet<Uuid>>>()
    };
    let (apps, members): (Vec<Uuid>, Vec<Uuid>) =
        (ids(0)?.into_iter().collect(), ids(1)?.into_iter().collect());
    let grants = context.rows(&GRANTS, values![now, apps, members])?;
    let grants = grants
        .iter()
        .map(|row| Ok((key(row)?, row.get::<Json<GrantData>>(3)?.0)))
        .collect::<Result<Vec<_>>>()?;
    let public_url = context.public_url();
    Ok(Listing {
        items: rows
            .iter()
            .map(|row| view(row, &grants, public_url))
            .collect::<Result<_>>()?,
        total,
    })
}

fn key(row: &Row) -> Result<ConnectionKey> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// Builds a connection from a row of [`LIST`]. `grants` has the grants of all connections on the
/// page.
fn view(
    row: &Row,
    grants: &[(ConnectionKey, GrantData)],
    public_url: &str,
) -> Result<ConnectionView> {
    let key = key(row)?;
    let own_grants: Vec<&GrantData> = grants
        .iter()
        .filter(|(grant_key, _)| *grant_key == key)
        .map(|(_, allowed)| allowed)
        .collect();
    let (connected_at, last_used_at): (Timestamp, Timestamp) = (row.get(3)?, row.get(4)?);
    let (document, Json(app)): (Option<String>, Json<OauthApp>) = (row.get(5)?, row.get(6)?);
    let (app_id, member_id, resource) = key;
    let scopes: BTreeSet<Permission> = own_grants
        .iter()
        .flat_map(|allowed| allowed.permissions.iter().copied())
        .collect();
    Ok(ConnectionView {
        oauth_app_id: document.unwrap_or_else(|| app_id.to_string()),
        member_id,
        name: app.name,
        redirect_host: own_grants
            .last()
            .map(|allowed| redirect::host(&allowed.redirect_uri))
            .unwrap_or_default(),
        scopes: scopes.into_iter().collect(),
        resource: own_grants
            .last()
            .and_then(|allowed| allowed.resource)
            .map_or(resource, |resource: Resource| resource.url(public_url)),
        connected_at: Moment(connected_at),
        last_used_at: Moment(last_used_at),
    })
}

fn delete(context: &mut Context<'_, '_>, input: RevokedConnection) -> Result<CredentialSuccess> {
    let app = match ClientId::parse(&input.oauth_app_id) {
        Some(ClientId::App(app)) => Some(app),
        Some(ClientId::Document(url)) => context
            .row(&APP_OF_DOCUMENT, values![url.as_str()])?
            .map(|row| row.get(0))
            .transpose()?,
        None => None,
    };
    let connection = app.map(|app| AppConnection {
        app,
        member: input.member_id,
    });
    let was_connected = connection.map_or(Ok(false), |connection| connection.end(context))?;
    if was_connected {
        Ok(CredentialSuccess { success: true })
    } else {
        Err(Error::not_found("Connection"))
    }
}

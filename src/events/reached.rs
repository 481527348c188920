//! listReachedWebhookSubscriptions, and the one rule about whose subscriptions a caller reaches.
//!
//! A credential reaches its own. A member who is signed in, holds `manage_organization` and reaches every property reaches those of
//! every credential of the organization: whoever answers for it has to see what leaves it, and to end it.

use std::collections::{BTreeSet, HashMap};

use engine::access::{Access, Credential};
use engine::audit::{Actor, ActorKind};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::operation::{Listing, Needs, Operation, Page, PageLimits};
use engine::values;
use http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Row, Statement};
use strum::AsRefStr;
use uuid::Uuid;

use super::Event;
use super::subscriptions::{WebhookSubscription, example};

/// What a list of subscriptions is held to.
macro_rules! select {
    ($what:literal, $rest:literal) => {
        concat!(
            "select ",
            $what,
            " from webhook_subscription where organization_id = ?1 and deleted_at is null and (?2 or credential = ?3)
                and (?4 or id = ?5) and (?6 or event = ?7) and (?8 or lower(target_url) like ?9 escape '!')
                and (?10 or (case when disabled_at is not null then 'disabled' when consecutive_failures > 0 then 'failing' else 'working' end) = ?11)",
            $rest
        )
    };
}

store::statements! {
    /// A subscription, and whose it is.
    ONE = "select id, event, target_url, consecutive_failures, disabled_at, disabled_reason, last_delivered_at, created_at, doc, credential
        from webhook_subscription where organization_id = ?1 and id = ?2 and deleted_at is null";
    /// Holds a subscription: its row is there until the transaction is over.
    HOLD = "select disabled_at, credential from webhook_subscription where organization_id = ?1 and id = ?2 and deleted_at is null for key share";
    /// How many subscriptions there are.
    COUNT = select!("count(*)", "");
    /// A page of them, the newest first.
    PAGE = select!(
        "id, event, target_url, consecutive_failures, disabled_at, disabled_reason, last_delivered_at, created_at, doc, credential",
        " order by created_at desc, id desc limit ?12 offset ?13"
    );
    /// What API keys are called.
    KEYS = "select id, doc ->> 'name' from api_key where organization_id = ?1 and id = any(?2)";
    /// What members are called.
    MEMBERS = "select id, coalesce(nullif(doc ->> 'name', ''), doc ->> 'email') from member where organization_id = ?1 and id = any(?2)";
    /// What apps are called. They belong to no organization.
    APPS = "select a.id, a.doc ->> 'name' from oauth_app a join organization o on o.id = ?1 where a.id = any(?2) and o.erased_at is null";
}

/// Whose subscriptions a caller reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reached {
    /// Those of every credential of the organization.
    All,
    /// Those of the credential that is stored so.
    Own(String),
}

impl Reached {
    /// The rule.
    pub(super) fn by(access: &Access) -> Self {
        if access.answers_for_organization() { Self::All } else { Self::Own(access.credential.key()) }
    }

    /// Whether those of a credential are among them.
    fn covers(&self, credential: &str) -> bool {
        match self {
            Self::All => true,
            Self::Own(own) => own == credential,
        }
    }
}

/// A subscription that the caller reaches, from the columns of [`ONE`].
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Row>> {
    reach(context, &ONE, id, 9)
}

/// The same; 404 where there is none.
pub(super) fn require(context: &mut Context<'_, '_>, id: Uuid) -> Result<Row> {
    find(context, id)?.ok_or_else(not_found)
}

/// Holds a subscription that the caller reaches for the rest of the transaction; whether it is active.
pub(super) fn hold(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    let row = reach(context, &HOLD, id, 1)?.ok_or_else(not_found)?;
    Ok(row.get::<Option<Timestamp>>(0)?.is_none())
}

fn reach(context: &mut Context<'_, '_>, statement: &'static Statement, id: Uuid, credential: usize) -> Result<Option<Row>> {
    let reached = Reached::by(context.access);
    let Some(row) = context.row(statement, values![id])? else { return Ok(None) };
    let is_reached = reached.covers(&row.get::<String>(credential)?);
    Ok(is_reached.then_some(row))
}

/// That there is no such subscription, or none that the caller reaches.
pub(super) fn not_found() -> Error {
    Error::not_found("Webhook subscription")
}

/// How a subscription stands.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema, AsRefStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schemars(inline)]
enum Standing {
    /// What was sent last arrived, or nothing was.
    Working,
    /// What was sent last did not arrive.
    Failing,
    /// Nothing is sent any more.
    Disabled,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListReached {
    /// Only the one of this id.
    #[serde(default)]
    id: Option<Uuid>,
    /// Only those to this event.
    #[serde(default)]
    #[schemars(schema_with = "super::subscriptions::event_name")]
    event: Option<Event>,
    /// Only those whose address begins with this host, or with a part of it, such as `client.example`; without `https://`.
    #[serde(default)]
    #[schemars(length(max = 255))]
    host: Option<String>,
    /// Only those that stand so: `working`, `failing` (what was sent last did not arrive), `disabled`.
    #[serde(default)]
    state: Option<Standing>,
}

/// Whose a subscription is.
#[derive(Debug, Serialize, JsonSchema)]
struct Owner {
    kind: ActorKind,
    /// The API key, or the member.
    id: Option<Uuid>,
    /// What it is called: the key, or the member and the app that acts for them. Null for one that is gone.
    name: Option<String>,
}

/// A subscription, and whose it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = owned_example())]
struct OwnedSubscription {
    #[serde(flatten)]
    subscription: WebhookSubscription,
    owner: Owner,
}

fn owned_example() -> Value {
    let mut example = example();
    example["owner"] = json!({ "kind": "api_key", "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Channel manager" });
    example
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public("listReachedWebhookSubscriptions", Method::GET, "/webhook-subscriptions/reached", Needs::Credential)
            .summary("List the webhook subscriptions that the caller reaches, with whose they are, the newest first, in pages")
            .rest_only()
            .pages(PageLimits { default: 50, max: 100 }, list),
    ]
}

/// The pattern of addresses that begin with a host.
fn pattern(host: &str) -> String {
    let escaped = host.trim().to_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("https://{escaped}%")
}

fn list(context: &mut Context<'_, '_>, input: ListReached, page: Page) -> Result<Listing<OwnedSubscription>> {
    let (is_all, own) = match Reached::by(context.access) {
        Reached::All => (true, String::new()),
        Reached::Own(own) => (false, own),
    };
    let (event, state) = (input.event.as_ref().map(AsRef::as_ref), input.state.as_ref().map(AsRef::as_ref));
    let host = input.host.as_deref().map(pattern);
    let (any_id, any_event, any_host, any_state) = (input.id.is_none(), event.is_none(), host.is_none(), state.is_none());
    let (id, event, host, state) = (input.id.unwrap_or_default(), event.unwrap_or(""), host.unwrap_or_default(), state.unwrap_or(""));
    let total = context
        .row(&COUNT, values![is_all, &own, any_id, id, any_event, event, any_host, &host, any_state, state])?
        .map_or(Ok(0), |row| row.get(0))?;
    let rows = context
        .rows(&PAGE, values![is_all, &own, any_id, id, any_event, event, any_host, &host, any_state, state, page.limit, page.offset])?;
    let credentials = rows.iter().map(|row| Ok(Credential::from_key(&row.get::<String>(9)?))).collect::<Result<Vec<_>>>()?;
    let names = Names::of(context, credentials.iter().flatten())?;
    let item = |(row, credential): (&Row, &Option<Credential>)| {
        let credential = credential.ok_or_else(|| Error::internal("a subscription of a credential that is none"))?;
        Ok(OwnedSubscription { subscription: WebhookSubscription::from_row(row)?, owner: names.owner(credential)? })
    };
    Ok(Listing { items: rows.iter().zip(&credentials).map(item).collect::<Result<_>>()?, total })
}

/// What the owners of a page of subscriptions are called, looked up together.
struct Names(HashMap<Uuid, String>);

impl Names {
    fn of<'c>(context: &mut Context<'_, '_>, credentials: impl Iterator<Item = &'c Credential>) -> Result<Self> {
        let (mut keys, mut members, mut apps) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for credential in credentials {
            match credential {
                Credential::ApiKey(id) => drop(keys.insert(*id)),
                Credential::Member(id) => drop(members.insert(*id)),
                Credential::Connection { app, member } => drop((apps.insert(*app), members.insert(*member))),
                Credential::Platform | Credential::Guest { .. } | Credential::Preview { .. } => {}
            }
        }
        let mut names = HashMap::new();
        for (statement, ids) in [(&KEYS, keys), (&MEMBERS, members), (&APPS, apps)] {
            if ids.is_empty() {
                continue;
            }
            for row in context.rows(statement, values![ids.into_iter().collect::<Vec<Uuid>>()])? {
                if let Some(name) = row.get::<Option<String>>(1)? {
                    names.insert(row.get(0)?, name);
                }
            }
        }
        Ok(Self(names))
    }

    fn owner(&self, credential: Credential) -> Result<Owner> {
        let actor = Actor::of(credential)?;
        let name = actor.id().and_then(|id| self.0.get(&id));
        let app = if let Credential::Connection { app, .. } = credential { self.0.get(&app) } else { None };
        let name = match (name, app) {
            (Some(name), Some(app)) => Some(format!("{name} via {app}")),
            (name, _) => name.cloned(),
        };
        Ok(Owner { kind: actor.kind(), id: actor.id(), name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::access::{Permission, Reach};

    #[test]
    fn who_answers_for_the_organization_reaches_every_subscription() {
        let (id, app) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let all = Reach::Everything;
        let some = Reach::Properties([id].into());
        let member = Credential::Member(id);
        for (credential, permission, reach, is_all) in [
            (member, Permission::ManageOrganization, &all, true),
            (member, Permission::ManageOrganization, &some, false),
            (member, Permission::ModifyProperties, &all, false),
            (Credential::ApiKey(id), Permission::ManageOrganization, &all, false),
            (Credential::Connection { app, member: id }, Permission::ManageOrganization, &all, false),
        ] {
            let permissions = [permission].into_iter().collect();
            let access = Access { credential, permissions, reach: reach.clone(), ..Access::platform() };
            let reached = Reached::by(&access);
            assert_eq!(reached == Reached::All, is_all, "{credential} {reach:?}");
            assert!(reached.covers(&credential.key()));
            assert_eq!(reached.covers(&Credential::ApiKey(app).key()), is_all);
        }
    }

    #[test]
    fn a_host_is_no_pattern() {
        assert_eq!(pattern(" Client.Example "), "https://client.example%");
        assert_eq!(pattern("a_b%!"), "https://a!_b!%!!%");
    }
}

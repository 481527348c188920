//! Credentials: how a bearer token is resolved to a caller.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::slice;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use store::{Json, Row, Statement, Transaction, Value};
use strum::VariantArray;
use uuid::Uuid;

use super::token::organization_of;
use super::{
    AccessToken, ApiKey, Member, Organization, Permission, Permissions, PropertyScope, Resource,
    Settings,
};
use crate::error::{Error, ErrorKind, Reason, Result};

store::statements! {
    /// Reads an API key and its organization, by the organization and the hash of a token.
    KEY_BY_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = ?1
        and k.token_hash = ?2 and o.erased_at is null";
    /// Reads an API key and its organization, by the organization and the hash of the token that
    /// the newest token has replaced. Column 6 is the end of the replaced token's grace period.
    KEY_BY_REPLACED_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision,
        k.replaced_until from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = ?1
        and k.replaced_hash = ?2 and o.erased_at is null";
    /// Reads an access token, its member and its organization, by the organization and the hash of
    /// the token.
    TOKEN_BY_HASH = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision, t.oauth_app_id,
        t.doc from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id where t.organization_id = ?1
        and t.token_hash = ?2 and o.erased_at is null";
    /// Reads API keys and their organizations, by organizations and hashes of tokens.
    KEYS_BY_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision, k.token_hash
        from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = any(?1)
        and k.token_hash = any(?2) and o.erased_at is null";
    /// Reads API keys and their organizations, by organizations and hashes of replaced tokens. The
    /// last column is the end of the replaced token's grace period.
    KEYS_BY_REPLACED_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision,
        k.replaced_hash, k.replaced_until from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = any(?1)
        and k.replaced_hash = any(?2) and o.erased_at is null";
    /// Reads an API key and its organization, by the key's id.
    KEY_BY_ID = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k
        join organization o on o.id = k.organization_id
        where k.organization_id = ?1 and k.id = ?2 and o.erased_at is null";
    /// Reads access tokens, their members and their organizations, by the hashes of the tokens.
    TOKENS_BY_HASH = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision,
        t.oauth_app_id, t.doc, t.token_hash from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id where t.organization_id = any(?1)
        and t.token_hash = any(?2) and o.erased_at is null";
    /// Reads the access tokens that an app has for a member, with the member and the organization.
    TOKENS_BY_CONNECTION = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision,
        t.oauth_app_id, t.doc from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id
        where t.organization_id = ?1 and t.oauth_app_id = ?2 and t.member_id = ?3
        and o.erased_at is null order by t.created_at, t.id";
    /// Reads the unexpired grants that a member has given an app, with the member and the
    /// organization. A grant outlives its access tokens, because the app can use the grant to fetch
    /// new tokens.
    GRANTS_BY_CONNECTION = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision,
        g.oauth_app_id, g.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        join organization o on o.id = g.organization_id
        where g.organization_id = ?1 and g.oauth_app_id = ?2 and g.member_id = ?3
        and g.exchanged_at is not null and g.expires_at > ?4
        and o.erased_at is null order by g.id";
    /// Reads a member and their organization, by the member's id.
    MEMBER_BY_ID = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision from member m
        join organization o on o.id = m.organization_id where m.organization_id = ?1 and m.id = ?2
        and o.erased_at is null";
    /// Reads the current revisions of organizations.
    REVISIONS = "select id, revision, stream_revision from organization where id = any(?1)
        and erased_at is null";
    /// Reads the current revisions of one organization.
    REVISIONS_OF_ONE = "select id, revision, stream_revision from organization where id = ?1
        and erased_at is null";
    /// Reads the time at which the API key of a token was revoked.
    REVOKED = "select revoked_at from revoked_key where organization_id = ?1 and token_hash = ?2";
    /// Reads the stored document of an API key.
    KEY = "select doc from api_key where organization_id = ?1 and id = ?2";
    /// Reads the stored document of a member.
    MEMBER = "select doc from member where organization_id = ?1 and id = ?2";
}

/// The identity of a caller. Within an organization, the credential also owns the webhook
/// subscriptions that the caller creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// An API key, by its id.
    ApiKey(Uuid),
    /// An OAuth app together with the member who authorized the app. All tokens of the app for that
    /// member are the same credential.
    Connection {
        /// Id of the app.
        app: Uuid,
        /// Id of the member.
        member: Uuid,
    },
    /// A member who is signed in to a browser, in any session.
    Member(Uuid),
    /// The platform key.
    Platform,
    /// A guest, identified by the token of a link.
    Guest {
        /// Id of the object that the guest's link opens, such as a stay.
        opens: Uuid,
    },
    /// Somebody who has the link to a preview. This caller sees the guest's view and can change
    /// nothing.
    Preview {
        /// Id of the object that the preview's link opens, such as a stay.
        opens: Uuid,
    },
}

impl Credential {
    /// Returns the text under which the credential is stored beside the objects that it owns.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::ApiKey(id) => format!("key:{id}"),
            Self::Connection { app, member } => format!("oauth:{app}:{member}"),
            Self::Member(id) => format!("member:{id}"),
            Self::Platform => "platform".into(),
            Self::Guest { opens } => format!("guest:{opens}"),
            Self::Preview { opens } => format!("preview:{opens}"),
        }
    }

    /// Parses a text from [`Credential::key`]. Returns `None` for the platform, guests and
    /// previews.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        match key.split(':').collect::<Vec<_>>()[..] {
            ["key", id] => Some(Self::ApiKey(id.parse().ok()?)),
            ["member", id] => Some(Self::Member(id.parse().ok()?)),
            ["oauth", app, member] => Some(Self::Connection {
                app: app.parse().ok()?,
                member: member.parse().ok()?,
            }),
            _ => None,
        }
    }
}

/// A credential within one organization: the owner of idempotency keys and rate limits. If a member
/// uses several organizations through one app, each organization has a separate owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner {
    pub organization: Uuid,
    /// The API key, app or other credential by which the caller is known in `organization`.
    pub credential: Credential,
}

impl Owner {
    /// Returns the key that identifies this owner of idempotency keys and rate limits, in Redis and
    /// in the database's locks.
    #[must_use]
    pub fn key(self) -> String {
        format!("{}:{}", self.organization, self.credential.key())
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

/// The rights of a caller at the time of the current request.
#[derive(Debug, Clone)]
pub struct Access {
    /// The identity of the caller.
    pub credential: Credential,
    /// The display name: the name of the API key or of the member. For a member without a name, it
    /// is the mail address.
    pub name: Option<Arc<str>>,
    pub permissions: Permissions,
    /// The properties that the caller may access.
    pub property_scope: PropertyScope,
    /// False if the organization requires two-factor authentication and the member has not
    /// enrolled.
    pub satisfies_two_factor: bool,
}

impl Access {
    /// Returns the access of the platform: every permission and every property.
    #[must_use]
    pub fn platform() -> Self {
        let permissions = Permission::VARIANTS.iter().copied().collect();
        Self {
            credential: Credential::Platform,
            name: None,
            permissions,
            property_scope: PropertyScope::Everything,
            satisfies_two_factor: true,
        }
    }

    /// Returns the access of a guest: only the object that the guest's link opens.
    #[must_use]
    pub fn guest(opens: Uuid) -> Self {
        Self::link_access(Credential::Guest { opens })
    }

    /// Returns the access of a person who opens the link to a preview of the guest page: only the
    /// preview `opens`.
    #[must_use]
    pub fn preview(opens: Uuid) -> Self {
        Self::link_access(Credential::Preview { opens })
    }

    fn link_access(credential: Credential) -> Self {
        let property_scope = PropertyScope::Properties([].into());
        Self {
            credential,
            name: None,
            permissions: Permissions::default(),
            property_scope,
            satisfies_two_factor: true,
        }
    }

    /// Returns 403 if the caller lacks the permission.
    pub fn require(&self, permission: Permission) -> Result<()> {
        if self.permissions.has(permission) {
            return Ok(());
        }
        Err(Error::forbidden(Reason::Permission(permission.into())))
    }

    /// Returns whether the caller may act for the organization. The caller must be a signed-in
    /// member who manages the organization and may access all of its properties. Returns false for
    /// API keys and apps, whatever their permissions are.
    #[must_use]
    pub fn may_act_for_organization(&self) -> bool {
        let is_signed_in = matches!(self.credential, Credential::Member(_));
        is_signed_in
            && self.permissions.has(Permission::ManageOrganization)
            && !self.property_scope.is_limited()
    }

    /// Returns 403 for a preview, because previews are read-only.
    pub fn require_more_than_a_preview(&self) -> Result<()> {
        match self.credential {
            Credential::Preview { .. } => Err(Error::forbidden(
                "This is a preview: it shows what a guest would see, and its forms do nothing.",
            )),
            _ => Ok(()),
        }
    }

    /// Returns 403 `TWO_FACTOR_REQUIRED` if the caller does not meet the organization's two-factor
    /// rule.
    pub fn require_two_factor(&self) -> Result<()> {
        if self.satisfies_two_factor {
            Ok(())
        } else {
            Err(ErrorKind::TwoFactor.into())
        }
    }
}

/// A caller and the caller's organization.
#[derive(Debug, Clone)]
pub struct Identified {
    /// The rights of the caller.
    pub access: Access,
    /// The caller's organization.
    pub organization: Organization,
    /// The revisions of the organization when the caller was read.
    pub revisions: Revisions,
    /// When the caller's token or API key expires, so that the caller must be identified again;
    /// `None` means never. The revisions do not change at that time.
    pub valid_until: Option<Timestamp>,
    /// The only resource (RFC 8707: the address of an interface) that the token is valid for;
    /// `None` means every resource.
    pub resource: Option<Resource>,
}

impl Identified {
    /// Returns the owner of the caller's idempotency keys and rate limits.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            organization: self.organization.id,
            credential: self.access.credential,
        }
    }

    /// Returns the caller for a member who is signed in to a browser, with the member's current
    /// permissions and organization. Does not check whether the member may sign in.
    #[must_use]
    pub fn member(
        id: Uuid,
        member: &Member,
        organization: Organization,
        revisions: Revisions,
    ) -> Self {
        let access = Access {
            credential: Credential::Member(id),
            name: Some(member.display_name().into()),
            permissions: member.permissions.iter().copied().collect(),
            property_scope: scope_of(member),
            satisfies_two_factor: satisfies_two_factor(member, &organization),
        };
        Self {
            access,
            organization,
            revisions,
            valid_until: None,
            resource: None,
        }
    }

    /// Returns whether the token is valid for this resource (the address of an interface).
    #[must_use]
    pub fn is_valid_at(&self, resource: Resource) -> bool {
        self.resource
            .is_none_or(|resource_of_token| resource_of_token.includes(resource))
    }

    /// Returns whether this caller can still be used at `now`. At `valid_until`, a token or the API
    /// key of the caller expires, so the caller must be identified again.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|until| now < until)
    }
}

/// Two numbers that identify the state of an organization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// The configuration revision. It changes with every write of the configuration, and of a
    /// record that the configuration refers to.
    pub configuration: i64,
    /// The stream revision. It changes with every write of records that change often, such as
    /// reservations, or of data from guests. These writes do not change `configuration`.
    pub stream: i64,
}

/// The parts of a bearer token from which its caller is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PresentedToken {
    kind: TokenKind,
    /// The organization that the token names.
    organization: Uuid,
    hash: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TokenKind {
    Key,
    Token,
}

impl PresentedToken {
    /// Parses a token. Returns `None` if its prefix is unknown, or if it contains no organization's
    /// id.
    #[must_use]
    pub fn of(token: &str) -> Option<Self> {
        let prefix = token.get(..3)?;
        let kind = match prefix {
            "sk_" => TokenKind::Key,
            "at_" => TokenKind::Token,
            _ => return None,
        };
        Some(Self {
            kind,
            organization: organization_of(prefix, token)?,
            hash: Sha256::digest(token).into(),
        })
    }

    /// Returns the statement and parameters that look up the token in its organization.
    fn by_hash(self) -> (&'static Statement, [Value; 2]) {
        let statement = match self.kind {
            TokenKind::Key => &KEY_BY_HASH,
            TokenKind::Token => &TOKEN_BY_HASH,
        };
        (
            statement,
            [self.organization.into(), Value::Bytes(self.hash.to_vec())],
        )
    }
}

/// Returns the caller of a bearer token. Returns `None` if the token is unknown, expired or
/// revoked, or if its member is inactive.
pub fn find(tx: &mut Transaction<'_>, token: &str, now: Timestamp) -> Result<Option<Identified>> {
    PresentedToken::of(token).map_or(Ok(None), |presented| find_one(tx, presented, now))
}

fn find_one(
    tx: &mut Transaction<'_>,
    presented: PresentedToken,
    now: Timestamp,
) -> Result<Option<Identified>> {
    let (statement, params) = presented.by_hash();
    match (tx.row(statement, &params)?, presented.kind) {
        (Some(row), TokenKind::Key) => api_key(&row, now, None),
        (Some(row), TokenKind::Token) => connection(slice::from_ref(&row), now),
        (None, TokenKind::Key) => tx
            .row(&KEY_BY_REPLACED_HASH, &params)?
            .map_or(Ok(None), |row| api_key(&row, now, row.get(6)?)),
        (None, TokenKind::Token) => Ok(None),
    }
}

/// Returns the time at which the API key with this token was revoked. Returns `None` if no such key
/// was revoked, or if the record of the revocation has expired.
pub fn revoked_at(tx: &mut Transaction<'_>, token: &str) -> Result<Option<Timestamp>> {
    let Some((_, params)) = PresentedToken::of(token).map(PresentedToken::by_hash) else {
        return Ok(None);
    };
    tx.row(&REVOKED, &params)?
        .map(|row| Ok(row.get(0)?))
        .transpose()
}

/// Returns the callers of many tokens.
///
/// The statements may read different snapshots. If a key is rotated between two statements, the
/// hash of its old token moves from `token_hash` to `replaced_hash`, but never back. So the
/// statement that searches `token_hash` runs first: if it misses a hash that moves, the statement
/// that searches `replaced_hash` finds it.
pub fn find_all(
    tx: &mut Transaction<'_>,
    presented: &[PresentedToken],
    now: Timestamp,
) -> Result<HashMap<PresentedToken, Identified>> {
    if let [presented] = *presented {
        return Ok(find_one(tx, presented, now)?
            .map(|caller| (presented, caller))
            .into_iter()
            .collect());
    }
    let (keys, tokens): (Vec<PresentedToken>, Vec<PresentedToken>) = presented
        .iter()
        .partition(|presented| presented.kind == TokenKind::Key);
    let mut callers = HashMap::new();
    read_by_hashes(tx, (&KEYS_BY_HASH, 6), &keys, &mut callers, |row| {
        api_key(row, now, None)
    })?;
    let others: Vec<_> = keys
        .into_iter()
        .filter(|presented| !callers.contains_key(&presented.hash))
        .collect();
    read_by_hashes(
        tx,
        (&KEYS_BY_REPLACED_HASH, 6),
        &others,
        &mut callers,
        |row| api_key(row, now, row.get(7)?),
    )?;
    read_by_hashes(tx, (&TOKENS_BY_HASH, 8), &tokens, &mut callers, |row| {
        connection(slice::from_ref(row), now)
    })?;
    Ok(presented
        .iter()
        .filter_map(|presented| Some((*presented, callers.get(&presented.hash)?.clone()?)))
        .collect())
}

/// Returns the revisions of organizations. The map has no entry for an erased organization.
pub fn revisions_of(
    tx: &mut Transaction<'_>,
    organizations: Vec<Uuid>,
) -> Result<HashMap<Uuid, Revisions>> {
    // With several database servers, the statement for one organization is sent only to the server
    // of that organization.
    let rows = match organizations[..] {
        [organization] => tx.rows(&REVISIONS_OF_ONE, &[organization.into()])?,
        _ => tx.rows(&REVISIONS, &[organizations.into()])?,
    };
    rows.iter()
        .map(|row| {
            Ok((
                row.get(0)?,
                Revisions {
                    configuration: row.get(1)?,
                    stream: row.get(2)?,
                },
            ))
        })
        .collect()
}

/// Reads the callers whose tokens have these hashes, and adds them to `callers`. `column` is the
/// index of the column with the hash.
fn read_by_hashes(
    tx: &mut Transaction<'_>,
    (statement, column): (&'static Statement, usize),
    presented: &[PresentedToken],
    callers: &mut HashMap<[u8; 32], Option<Identified>>,
    read: impl Fn(&Row) -> Result<Option<Identified>>,
) -> Result<()> {
    if presented.is_empty() {
        return Ok(());
    }
    let organizations: BTreeSet<Uuid> = presented
        .iter()
        .map(|presented| presented.organization)
        .collect();
    let hashes = presented
        .iter()
        .map(|presented| presented.hash.to_vec())
        .collect();
    for row in tx.rows(
        statement,
        &[
            Vec::from_iter(organizations).into(),
            Value::ManyBytes(hashes),
        ],
    )? {
        let hash: Vec<u8> = row.get(column)?;
        let hash = hash
            .try_into()
            .map_err(|_| Error::internal("a stored hash has the wrong length"))?;
        callers.insert(hash, read(&row)?);
    }
    Ok(())
}

/// Returns the caller who has this credential, with the caller's current rights. Returns `None` for
/// the platform, for guests and for previews.
pub fn load(
    tx: &mut Transaction<'_>,
    organization: Uuid,
    credential: Credential,
    now: Timestamp,
) -> Result<Option<Identified>> {
    match credential {
        Credential::ApiKey(id) => tx
            .row(&KEY_BY_ID, &[organization.into(), id.into()])?
            .map_or(Ok(None), |row| api_key(&row, now, None)),
        Credential::Connection { app, member } => {
            let mut rows = tx.rows(
                &TOKENS_BY_CONNECTION,
                &[organization.into(), app.into(), member.into()],
            )?;
            rows.extend(tx.rows(
                &GRANTS_BY_CONNECTION,
                &[organization.into(), app.into(), member.into(), now.into()],
            )?);
            connection(&rows, now)
        }
        Credential::Member(id) => tx
            .row(&MEMBER_BY_ID, &[organization.into(), id.into()])?
            .map_or(Ok(None), |row| active_member(&row)),
        Credential::Platform | Credential::Guest { .. } | Credential::Preview { .. } => Ok(None),
    }
}

/// Returns the stored API key with this id. Does not check whether the key has expired.
pub fn key(tx: &mut Transaction<'_>, organization: Uuid, id: Uuid) -> Result<Option<ApiKey>> {
    stored(tx, &KEY, organization, id)
}

/// Returns the stored member with this id; `None` if there is no such member. Does not check
/// whether the member is active.
pub fn member(tx: &mut Transaction<'_>, organization: Uuid, id: Uuid) -> Result<Option<Member>> {
    stored(tx, &MEMBER, organization, id)
}

fn stored<T: DeserializeOwned>(
    tx: &mut Transaction<'_>,
    statement: &'static Statement,
    organization: Uuid,
    id: Uuid,
) -> Result<Option<T>> {
    let row = tx.row(statement, &[organization.into(), id.into()])?;
    Ok(row.map(|row| row.get(0)).transpose()?.map(|Json(doc)| doc))
}

/// Builds the caller from a row with an API key. Returns `None` if the key or its token has
/// expired. `until` is the end of the grace period of a replaced token, or `None` for the newest
/// token.
fn api_key(row: &Row, now: Timestamp, until: Option<Timestamp>) -> Result<Option<Identified>> {
    let Json(key): Json<ApiKey> = row.get(1)?;
    let expiry = key.expires_at.map(|expiry| expiry.0);
    let valid_until = [expiry, until].into_iter().flatten().min();
    if valid_until.is_some_and(|end| end <= now) {
        return Ok(None);
    }
    let access = Access {
        credential: Credential::ApiKey(row.get(0)?),
        name: Some(key.name.into()),
        permissions: key.permissions.into_iter().collect(),
        property_scope: PropertyScope::Everything,
        satisfies_two_factor: true,
    };
    Ok(Some(Identified {
        access,
        organization: organization(row)?,
        revisions: revisions(row)?,
        valid_until,
        resource: None,
    }))
}

/// Builds the caller from a row that contains a member. Returns `None` if the member is not active.
fn active_member(row: &Row) -> Result<Option<Identified>> {
    let Json(member): Json<Member> = row.get(1)?;
    if !member.is_active {
        return Ok(None);
    }
    Ok(Some(Identified::member(
        row.get(0)?,
        &member,
        organization(row)?,
        revisions(row)?,
    )))
}

/// Returns the properties that a member may access.
fn scope_of(member: &Member) -> PropertyScope {
    member
        .property_ids
        .as_ref()
        .map_or(PropertyScope::Everything, |ids| {
            PropertyScope::Properties(ids.iter().copied().collect())
        })
}

/// Returns whether a member meets the two-factor rule of the organization.
fn satisfies_two_factor(member: &Member, organization: &Organization) -> bool {
    member.is_two_factor_enrolled || !organization.settings.is_two_factor_required
}

/// Combines the access tokens and grants that an app has for one member into one caller. The caller
/// has every permission that an unexpired token or grant gives and that the member still has. The
/// caller is limited to a resource only if all unexpired tokens and grants name that resource.
fn connection(rows: &[Row], now: Timestamp) -> Result<Option<Identified>> {
    let mut granted: Option<Vec<Permission>> = None;
    let mut valid_until: Option<Timestamp> = None;
    let mut resources: Vec<Option<Resource>> = Vec::new();
    for row in rows {
        let Json(token): Json<AccessToken> = row.get(7)?;
        let expiry = token.expires_at.map(|expiry| expiry.0);
        if expiry.is_none_or(|expiry| expiry > now) {
            granted.get_or_insert_default().extend(token.permissions);
            resources.push(token.resource);
            valid_until = [valid_until, expiry].into_iter().flatten().min();
        }
    }
    let (Some(row), Some(granted)) = (rows.first(), granted) else {
        return Ok(None);
    };
    let Json(member): Json<Member> = row.get(1)?;
    if !member.is_active {
        return Ok(None);
    }
    let organization = organization(row)?;
    let access = Access {
        credential: Credential::Connection {
            app: row.get(6)?,
            member: row.get(0)?,
        },
        name: Some(member.display_name().into()),
        permissions: Permissions::from_iter(granted)
            .and(member.permissions.iter().copied().collect()),
        property_scope: scope_of(&member),
        satisfies_two_factor: satisfies_two_factor(&member, &organization),
    };
    resources.dedup();
    let resource = if let [resource] = resources[..] {
        resource
    } else {
        None
    };
    Ok(Some(Identified {
        access,
        organization,
        revisions: revisions(row)?,
        valid_until,
        resource,
    }))
}

fn revisions(row: &Row) -> Result<Revisions> {
    Ok(Revisions {
        configuration: row.get(4)?,
        stream: row.get(5)?,
    })
}

fn organization(row: &Row) -> Result<Organization> {
    let Json(settings): Json<Settings> = row.get(3)?;
    Ok(Organization {
        id: row.get(2)?,
        settings,
    })
}

//! Credentials: how a token becomes a caller.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::slice;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use store::{Ask, Json, Row, Statement, Transaction, Value};
use strum::VariantArray;
use uuid::Uuid;

use super::token::named;
use super::{AccessToken, ApiKey, Member, Organization, Permission, Permissions, Reach, Resource, Settings};
use crate::error::{Error, Kind, Reason, Result};

store::statements! {
    /// The organizations of API keys, by the hashes of tokens that do not name them.
    OWNERS_OF_KEYS = "select organization_id, token_hash from api_key where token_hash = any(?1)
        union all select organization_id, replaced_hash from api_key where replaced_hash = any(?1)";
    /// The same of access tokens.
    OWNERS_OF_TOKENS = "select organization_id, token_hash from access_token where token_hash = any(?1)";
    /// An API key and its organization, by that and the hash of a token.
    KEY_BY_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = ?1 and k.token_hash = ?2 and o.erased_at is null";
    /// The same by the hash of a token that the newest one has replaced, with the end of its grace time.
    KEY_BY_REPLACED_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision, k.replaced_until from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = ?1 and k.replaced_hash = ?2 and o.erased_at is null";
    /// An access token, its member and its organization, by that and the hash of the token.
    TOKEN_BY_HASH = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision, t.oauth_app_id, t.doc from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id where t.organization_id = ?1 and t.token_hash = ?2 and o.erased_at is null";
    /// API keys and their organizations, by these and the hashes of tokens.
    KEYS_BY_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision, k.token_hash from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = any(?1) and k.token_hash = any(?2) and o.erased_at is null";
    /// The same by the hashes of tokens that the newest ones have replaced, with the ends of their grace times.
    KEYS_BY_REPLACED_HASH = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision, k.replaced_hash, k.replaced_until from api_key k
        join organization o on o.id = k.organization_id where k.organization_id = any(?1) and k.replaced_hash = any(?2) and o.erased_at is null";
    /// An API key and its organization, by its id.
    KEY_BY_ID = "select k.id, k.doc, o.id, o.doc, o.revision, o.stream_revision from api_key k join organization o on o.id = k.organization_id
        where k.organization_id = ?1 and k.id = ?2 and o.erased_at is null";
    /// Access tokens, their members and their organizations, by the hashes of the tokens.
    TOKENS_BY_HASH = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision, t.oauth_app_id, t.doc, t.token_hash from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id where t.organization_id = any(?1) and t.token_hash = any(?2) and o.erased_at is null";
    /// The access tokens of a connection, with its member and organization.
    TOKENS_BY_CONNECTION = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision, t.oauth_app_id, t.doc from access_token t
        join member m on m.organization_id = t.organization_id and m.id = t.member_id
        join organization o on o.id = t.organization_id
        where t.organization_id = ?1 and t.oauth_app_id = ?2 and t.member_id = ?3 and o.erased_at is null order by t.created_at, t.id";
    /// What a member has allowed an app that is not over, with the member and the organization: a grant outlives its tokens, which
    /// an app fetches anew when it needs them.
    GRANTS_BY_CONNECTION = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision, g.oauth_app_id, g.doc from oauth_grant g
        join member m on m.organization_id = g.organization_id and m.id = g.member_id
        join organization o on o.id = g.organization_id
        where g.organization_id = ?1 and g.oauth_app_id = ?2 and g.member_id = ?3 and g.exchanged_at is not null and g.expires_at > ?4
        and o.erased_at is null order by g.id";
    /// A member and their organization, by the member's id.
    MEMBER_BY_ID = "select m.id, m.doc, o.id, o.doc, o.revision, o.stream_revision from member m
        join organization o on o.id = m.organization_id where m.organization_id = ?1 and m.id = ?2 and o.erased_at is null";
    /// The states that organizations are in.
    REVISIONS = "select id, revision, stream_revision from organization where id = any(?1) and erased_at is null";
    /// The state that one is in.
    REVISIONS_OF_ONE = "select id, revision, stream_revision from organization where id = ?1 and erased_at is null";
    /// An API key.
    KEY = "select doc from api_key where organization_id = ?1 and id = ?2";
    /// A member.
    MEMBER = "select doc from member where organization_id = ?1 and id = ?2";
}

/// Who it is that calls, and whose its subscriptions are within an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// An API key.
    ApiKey(Uuid),
    /// An OAuth app together with the member who authorized it, whichever token they use.
    Connection {
        /// The app.
        app: Uuid,
        /// The member.
        member: Uuid,
    },
    /// A member who acts for themselves: signed in in a browser, in whichever of their sessions.
    Member(Uuid),
    /// The platform key.
    Platform,
    /// A guest, by the token of their link.
    Guest {
        /// What the link opens.
        opens: Uuid,
    },
    /// Whoever has the link to a preview: they see what a guest would, and do nothing.
    Preview {
        /// What the link opens.
        opens: Uuid,
    },
}

impl Credential {
    /// As it is stored beside what it owns.
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

    /// The credential stored so.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        match key.split(':').collect::<Vec<_>>()[..] {
            ["key", id] => Some(Self::ApiKey(id.parse().ok()?)),
            ["member", id] => Some(Self::Member(id.parse().ok()?)),
            ["oauth", app, member] => Some(Self::Connection { app: app.parse().ok()?, member: member.parse().ok()? }),
            _ => None,
        }
    }
}

/// A credential where it acts: what owns idempotency keys and rate limits. A member may come into several organizations by
/// one app, and has nothing of one in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The organization.
    pub organization: Uuid,
    /// Who it is there.
    pub credential: Credential,
}

impl Owner {
    /// As other processes know it.
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

/// What a caller may do, as of this request.
#[derive(Debug, Clone)]
pub struct Access {
    /// Who it is.
    pub credential: Credential,
    /// What people call them: the name of an API key, or of a member, whose address stands for a name that there is not.
    pub name: Option<Arc<str>>,
    /// What they hold.
    pub permissions: Permissions,
    /// Which properties they reach.
    pub reach: Reach,
    /// False when the organization's two-factor rule asks for an enrolment that is missing.
    pub satisfies_two_factor: bool,
}

impl Access {
    /// The platform around us: everything.
    #[must_use]
    pub fn platform() -> Self {
        let permissions = Permission::VARIANTS.iter().copied().collect();
        Self { credential: Credential::Platform, name: None, permissions, reach: Reach::Everything, satisfies_two_factor: true }
    }

    /// A guest: what their link opens, and nothing else.
    #[must_use]
    pub fn guest(opens: Uuid) -> Self {
        Self::linked(Credential::Guest { opens })
    }

    /// Whoever looks at a preview.
    #[must_use]
    pub fn preview(opens: Uuid) -> Self {
        Self::linked(Credential::Preview { opens })
    }

    fn linked(credential: Credential) -> Self {
        let reach = Reach::Properties([].into());
        Self { credential, name: None, permissions: Permissions::default(), reach, satisfies_two_factor: true }
    }

    /// 403 without the permission.
    pub fn require(&self, permission: Permission) -> Result<()> {
        if self.permissions.has(permission) {
            return Ok(());
        }
        Err(Error::forbidden(Reason::Permission(permission.into())))
    }

    /// Whether it is somebody who answers for the organization: a member who is signed in, manages it, and reaches all of it. A key
    /// and an app never do, whatever they hold.
    #[must_use]
    pub fn answers_for_organization(&self) -> bool {
        let is_signed_in = matches!(self.credential, Credential::Member(_));
        is_signed_in && self.permissions.has(Permission::ManageOrganization) && !self.reach.is_limited()
    }

    /// 403 for whoever may look and no more.
    pub fn require_more_than_a_preview(&self) -> Result<()> {
        match self.credential {
            Credential::Preview { .. } => {
                Err(Error::forbidden("This is a preview: it shows what a guest would see, and its forms do nothing."))
            }
            _ => Ok(()),
        }
    }

    /// 403 `TWO_FACTOR_REQUIRED` where the organization's rule is not met.
    pub fn require_two_factor(&self) -> Result<()> {
        if self.satisfies_two_factor { Ok(()) } else { Err(Kind::TwoFactor.into()) }
    }
}

/// A caller and their organization.
#[derive(Debug, Clone)]
pub struct Identified {
    /// What they may do.
    pub access: Access,
    /// Where.
    pub organization: Organization,
    /// The state the organization was in.
    pub revisions: Revisions,
    /// When this ceases to be so by itself.
    pub valid_until: Option<Timestamp>,
    /// The one resource that their token is good at; both where it names none.
    pub resource: Option<Resource>,
}

impl Identified {
    /// What owns the caller's idempotency keys and rate limits.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner { organization: self.organization.id, credential: self.access.credential }
    }

    /// A member who acts for themselves, as they and their organization are: they hold what they are given, whether or not they may be
    /// signed in.
    #[must_use]
    pub fn member(id: Uuid, member: &Member, organization: Organization, revisions: Revisions) -> Self {
        let access = Access {
            credential: Credential::Member(id),
            name: Some(member.called().into()),
            permissions: member.permissions.iter().copied().collect(),
            reach: reach_of(member),
            satisfies_two_factor: satisfies_two_factor(member, &organization),
        };
        Self { access, organization, revisions, valid_until: None, resource: None }
    }

    /// Whether the token is good there.
    #[must_use]
    pub fn is_good_at(&self, resource: Resource) -> bool {
        self.resource.is_none_or(|own| own == resource)
    }

    /// Whether it is still so.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.valid_until.is_none_or(|until| now < until)
    }
}

/// Names the state of an organization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// Of what it configures and what that refers to.
    pub configuration: i64,
    /// Of the records that come and go.
    pub stream: i64,
}

/// What of a bearer token its caller is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shown {
    kind: Shows,
    /// Whose it says that it is.
    organization: Option<Uuid>,
    hash: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Shows {
    Key,
    Token,
}

impl Shown {
    /// `None` where nobody has such a token.
    #[must_use]
    pub fn of(token: &str) -> Option<Self> {
        let prefix = token.get(..3)?;
        let kind = match prefix {
            "sk_" => Shows::Key,
            "at_" => Shows::Token,
            _ => return None,
        };
        Some(Self { kind, organization: named(prefix, token), hash: Sha256::digest(token).into() })
    }

    /// How it is looked for, once it is known whose it says that it is.
    fn by_hash(self) -> Option<(&'static Statement, [Value; 2])> {
        let statement = match self.kind {
            Shows::Key => &KEY_BY_HASH,
            Shows::Token => &TOKEN_BY_HASH,
        };
        Some((statement, [self.organization?.into(), Value::Bytes(self.hash.to_vec())]))
    }

    /// What [`find`] asks first of a token that names its organization.
    pub(crate) fn ask(self) -> Option<Ask> {
        self.by_hash().map(|(statement, params)| Ask::rows(statement, params))
    }
}

/// The caller a bearer token stands for; `None` for one that is unknown, expired, revoked or switched off.
pub fn find(tx: &mut Transaction<'_>, token: &str, now: Timestamp) -> Result<Option<Identified>> {
    Shown::of(token).map_or(Ok(None), |shown| find_one(tx, shown, now))
}

fn find_one(tx: &mut Transaction<'_>, shown: Shown, now: Timestamp) -> Result<Option<Identified>> {
    let owners = match shown.kind {
        Shows::Key => &OWNERS_OF_KEYS,
        Shows::Token => &OWNERS_OF_TOKENS,
    };
    let Some(shown) = with_owners(tx, owners, vec![shown])?.pop() else { return Ok(None) };
    let Some((statement, params)) = shown.by_hash() else { return Ok(None) };
    match (tx.row(statement, &params)?, shown.kind) {
        (Some(row), Shows::Key) => api_key(&row, now, None),
        (Some(row), Shows::Token) => connection(slice::from_ref(&row), now),
        (None, Shows::Key) => tx.row(&KEY_BY_REPLACED_HASH, &params)?.map_or(Ok(None), |row| api_key(&row, now, row.get(6)?)),
        (None, Shows::Token) => Ok(None),
    }
}

/// The same for many tokens.
///
/// The statements do not have to be of one state: the hash of a token leaves `token_hash` for `replaced_hash`, never the other
/// way round, so that one which the first look misses is where the second looks, or nowhere.
pub fn find_all(tx: &mut Transaction<'_>, shown: &[Shown], now: Timestamp) -> Result<HashMap<Shown, Identified>> {
    if let [shown] = *shown {
        return Ok(find_one(tx, shown, now)?.map(|found| (shown, found)).into_iter().collect());
    }
    let (keys, tokens): (Vec<Shown>, Vec<Shown>) = shown.iter().partition(|shown| shown.kind == Shows::Key);
    let mut found = HashMap::new();
    let (keys, tokens) = (with_owners(tx, &OWNERS_OF_KEYS, keys)?, with_owners(tx, &OWNERS_OF_TOKENS, tokens)?);
    look(tx, (&KEYS_BY_HASH, 6), &keys, &mut found, |row| api_key(row, now, None))?;
    let others: Vec<_> = keys.into_iter().filter(|shown| !found.contains_key(&shown.hash)).collect();
    look(tx, (&KEYS_BY_REPLACED_HASH, 6), &others, &mut found, |row| api_key(row, now, row.get(7)?))?;
    look(tx, (&TOKENS_BY_HASH, 8), &tokens, &mut found, |row| connection(slice::from_ref(row), now))?;
    Ok(shown.iter().filter_map(|shown| Some((*shown, found.get(&shown.hash)?.clone()?))).collect())
}

/// The states that organizations are in, without those that are erased.
pub fn revisions_of(tx: &mut Transaction<'_>, organizations: Vec<Uuid>) -> Result<HashMap<Uuid, Revisions>> {
    // Where organizations are on several servers, one of one is planned for at once.
    let rows = match organizations[..] {
        [organization] => tx.rows(&REVISIONS_OF_ONE, &[organization.into()])?,
        _ => tx.rows(&REVISIONS, &[organizations.into()])?,
    };
    rows.iter().map(|row| Ok((row.get(0)?, Revisions { configuration: row.get(1)?, stream: row.get(2)? }))).collect()
}

/// What is shown, each with the organization whose it says that it is, or else is found to be; without those that are nobody's.
fn with_owners(tx: &mut Transaction<'_>, of_hashes: &'static Statement, shown: Vec<Shown>) -> Result<Vec<Shown>> {
    let (mut named, others): (Vec<Shown>, Vec<Shown>) = shown.into_iter().partition(|shown| shown.organization.is_some());
    if !others.is_empty() {
        let hashes = others.iter().map(|shown| shown.hash.to_vec()).collect();
        let owners = tx.rows(of_hashes, &[Value::ManyBytes(hashes)])?;
        let owners: HashMap<Vec<u8>, Uuid> = owners.iter().map(|row| Ok((row.get(1)?, row.get(0)?))).collect::<store::Result<_>>()?;
        named.extend(others.into_iter().filter_map(|shown| {
            let organization = owners.get(shown.hash.as_slice()).copied()?;
            Some(Shown { organization: Some(organization), ..shown })
        }));
    }
    Ok(named)
}

/// Reads what a statement finds by hashes, of which it tells each in a column.
fn look(
    tx: &mut Transaction<'_>,
    (statement, column): (&'static Statement, usize),
    shown: &[Shown],
    found: &mut HashMap<[u8; 32], Option<Identified>>,
    read: impl Fn(&Row) -> Result<Option<Identified>>,
) -> Result<()> {
    if shown.is_empty() {
        return Ok(());
    }
    let organizations: BTreeSet<Uuid> = shown.iter().filter_map(|shown| shown.organization).collect();
    let hashes = shown.iter().map(|shown| shown.hash.to_vec()).collect();
    for row in tx.rows(statement, &[Vec::from_iter(organizations).into(), Value::ManyBytes(hashes)])? {
        let hash: Vec<u8> = row.get(column)?;
        let hash = hash.try_into().map_err(|_| Error::internal("a hash of another length"))?;
        found.insert(hash, read(&row)?);
    }
    Ok(())
}

/// The same for a stored credential: what it may do now.
pub fn load(tx: &mut Transaction<'_>, organization: Uuid, credential: Credential, now: Timestamp) -> Result<Option<Identified>> {
    match credential {
        Credential::ApiKey(id) => tx.row(&KEY_BY_ID, &[organization.into(), id.into()])?.map_or(Ok(None), |row| api_key(&row, now, None)),
        Credential::Connection { app, member } => {
            let mut rows = tx.rows(&TOKENS_BY_CONNECTION, &[organization.into(), app.into(), member.into()])?;
            rows.extend(tx.rows(&GRANTS_BY_CONNECTION, &[organization.into(), app.into(), member.into(), now.into()])?);
            connection(&rows, now)
        }
        Credential::Member(id) => tx.row(&MEMBER_BY_ID, &[organization.into(), id.into()])?.map_or(Ok(None), |row| active_member(&row)),
        Credential::Platform | Credential::Guest { .. } | Credential::Preview { .. } => Ok(None),
    }
}

/// An API key of an organization, as it is stored.
pub fn key(tx: &mut Transaction<'_>, organization: Uuid, id: Uuid) -> Result<Option<ApiKey>> {
    stored(tx, &KEY, organization, id)
}

/// A member of an organization, as they are stored.
pub fn member(tx: &mut Transaction<'_>, organization: Uuid, id: Uuid) -> Result<Option<Member>> {
    stored(tx, &MEMBER, organization, id)
}

fn stored<T: DeserializeOwned>(tx: &mut Transaction<'_>, one: &'static Statement, organization: Uuid, id: Uuid) -> Result<Option<T>> {
    let row = tx.row(one, &[organization.into(), id.into()])?;
    Ok(row.map(|row| row.get(0)).transpose()?.map(|Json(doc)| doc))
}

/// An API key, asked for by a token that is good until `until`, or for good.
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
        reach: Reach::Everything,
        satisfies_two_factor: true,
    };
    Ok(Some(Identified { access, organization: organization(row)?, revisions: revisions(row)?, valid_until, resource: None }))
}

/// A member who acts for themselves, as long as they are active.
fn active_member(row: &Row) -> Result<Option<Identified>> {
    let Json(member): Json<Member> = row.get(1)?;
    if !member.is_active {
        return Ok(None);
    }
    Ok(Some(Identified::member(row.get(0)?, &member, organization(row)?, revisions(row)?)))
}

/// Which properties a member reaches.
fn reach_of(member: &Member) -> Reach {
    member.property_ids.as_ref().map_or(Reach::Everything, |ids| Reach::Properties(ids.iter().copied().collect()))
}

/// Whether a member meets the two-factor rule of their organization.
fn satisfies_two_factor(member: &Member, organization: &Organization) -> bool {
    member.is_two_factor_enrolled || !organization.settings.is_two_factor_required
}

/// A connection holds what any of its unexpired tokens and grants gives, as far as the member still holds it, and is good where each is.
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
    let (Some(row), Some(granted)) = (rows.first(), granted) else { return Ok(None) };
    let Json(member): Json<Member> = row.get(1)?;
    if !member.is_active {
        return Ok(None);
    }
    let organization = organization(row)?;
    let access = Access {
        credential: Credential::Connection { app: row.get(6)?, member: row.get(0)? },
        name: Some(member.called().into()),
        permissions: Permissions::from_iter(granted).and(member.permissions.iter().copied().collect()),
        reach: reach_of(&member),
        satisfies_two_factor: satisfies_two_factor(&member, &organization),
    };
    resources.dedup();
    let resource = if let [resource] = resources[..] { resource } else { None };
    Ok(Some(Identified { access, organization, revisions: revisions(row)?, valid_until, resource }))
}

fn revisions(row: &Row) -> Result<Revisions> {
    Ok(Revisions { configuration: row.get(4)?, stream: row.get(5)? })
}

fn organization(row: &Row) -> Result<Organization> {
    let Json(settings): Json<Settings> = row.get(3)?;
    Ok(Organization { id: row.get(2)?, settings })
}

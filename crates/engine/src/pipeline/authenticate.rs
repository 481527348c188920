//! Authentication: from the credential of a request to its caller.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use store::{BatchLookup, Store, Transaction};
use subtle::{Choice, ConstantTimeEq};
use uuid::Uuid;

use super::Service;
use super::memory::PresentedCredential;
use super::{Caller, Head};
use crate::access::{self, Access, Credential, Identified, PresentedToken, Resource};
use crate::app::App;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::format;
use crate::operation::{Operation, Surface, Work};

/// Returns the bearer token of a request. Returns `None` if the `Authorization` header is missing,
/// repeated, or has another scheme.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns the token of a request: the bearer token, or the token of a guest's link in the path.
/// Returns `None` for a request without a token.
pub(super) fn token<'r>(operation: &Operation, request: &'r Head) -> Option<&'r str> {
    match operation.surface {
        Surface::Public | Surface::Platform => bearer(&request.headers),
        Surface::Guest => link_token(request),
    }
}

/// The name of the path parameter with the token of a guest's link.
pub(super) const TOKEN: &str = "token";
/// The name of the path parameter with the id of an organization.
pub(super) const ORGANIZATION_ID: &str = "organizationId";

fn link_token(request: &Head) -> Option<&str> {
    request
        .path
        .iter()
        .find(|(name, _)| name == TOKEN)
        .map(|(_, value)| value.as_str())
}

/// Returns whether the request asks for the guest's view at another time than now. Such a request
/// needs a credential in addition to the link.
fn asks_for_another_time(request: &Head) -> bool {
    request.query.iter().any(|(name, _)| name == "at")
}

/// Returns the caller if no database access is needed to identify the caller. This is the case for
/// the platform, for a caller whom the surface has already identified, and for a cached caller. A
/// cached caller is valid as long as the database does not change.
pub(super) fn recall(
    service: &Service,
    operation: &Operation,
    request: &Head,
    now: Timestamp,
) -> Result<Option<Caller>> {
    match operation.surface {
        Surface::Public => Ok(match &request.caller {
            Some(identified) => Some(identified.clone()),
            None => bearer(&request.headers)
                .and_then(|token| cached(service, token, Resource::Api, now)),
        }
        .map(Caller::Organization)),
        Surface::Platform => platform_caller(service, operation, request).map(Some),
        Surface::Guest => {
            let token = link_token(request)
                .filter(|_| !asks_for_another_time(request))
                .map(PresentedCredential::Link);
            let cached = token
                .zip(service.store.version())
                .and_then(|(token, version)| service.memory.caller(token, version, now));
            Ok(cached.map(Caller::Organization))
        }
    }
}

fn cached(
    service: &Service,
    token: &str,
    resource: Resource,
    now: Timestamp,
) -> Option<Arc<Identified>> {
    let cached = service.memory.caller(
        PresentedCredential::Bearer(token),
        service.store.version()?,
        now,
    );
    cached.filter(|identified| identified.is_valid_at(resource))
}

/// Authenticates the caller of an MCP message for `resource`, the address to which the message was
/// sent. Each message is authenticated once, before the operation that the message calls is known.
pub async fn at_tools(
    service: &Arc<Service>,
    headers: &HeaderMap,
    resource: Resource,
) -> Result<Arc<Identified>> {
    let token = bearer(headers).ok_or(ErrorKind::Authentication)?.to_owned();
    let now = service.clock.now();
    if let Some(identified) = cached(service, &token, resource, now) {
        return Ok(identified);
    }
    if !service.store.is_only_process() {
        return look_up_shared(service, &token, resource, now).await;
    }
    let (share, shared) = (service.organization_hints.of_token(&token), service.clone());
    service
        .store
        .read_for(share, move |tx| look_up(tx, &shared, &token, resource, now))
        .await
}

/// A parsed token, by which [`Callers`] finds the caller.
type Token = PresentedCredential<PresentedToken, String>;

/// The maximum number of API keys in the cache.
const CACHED_KEYS: usize = 4_096;

/// A cache of API keys, each with the revisions of its organization. A key is changed only by a
/// write of its organization, and every such write changes a revision.
struct Keys(Cache<PresentedToken, CachedCaller>);

#[derive(Clone)]
struct CachedCaller {
    identified: Arc<Identified>,
    /// Whether the organization's revisions had changed at the last look-up of the key. If so, they
    /// have probably changed again. The next look-up therefore loads the key at once, without
    /// comparing the revisions first.
    changes_often: bool,
}

impl Keys {
    /// Returns the callers of tokens. For an API key in the cache, reuses the cached caller if the
    /// revisions of its organization have not changed.
    fn find(
        &self,
        tx: &mut Transaction<'_>,
        presented: Vec<PresentedToken>,
        now: Timestamp,
    ) -> Result<HashMap<PresentedToken, Arc<Identified>>> {
        let before: HashMap<_, _> = presented
            .iter()
            .filter_map(|token| Some((*token, self.0.get(token)?)))
            .collect();
        let stable = before.iter().filter(|(_, cached)| !cached.changes_often);
        let mut callers: HashMap<_, _> = stable
            .map(|(token, cached)| (*token, cached.identified.clone()))
            .collect();
        if !callers.is_empty() {
            let organizations: BTreeSet<Uuid> = callers
                .values()
                .map(|identified| identified.organization.id)
                .collect();
            let states = access::revisions_of(tx, Vec::from_iter(organizations))?;
            callers.retain(|_, identified| {
                states.get(&identified.organization.id) == Some(&identified.revisions)
            });
        }
        let others: Vec<_> = presented
            .into_iter()
            .filter(|token| !callers.contains_key(token))
            .collect();
        if !others.is_empty() {
            for (token, identified) in access::find_all(tx, &others, now)? {
                let identified = Arc::new(identified);
                if matches!(identified.access.credential, Credential::ApiKey(_)) {
                    let before = before.get(&token).map(|cached| cached.identified.revisions);
                    let changes_often = before.is_some_and(|before| before != identified.revisions);
                    self.0.insert(
                        token,
                        CachedCaller {
                            identified: identified.clone(),
                            changes_often,
                        },
                    );
                }
                callers.insert(token, identified);
            }
        }
        Ok(callers)
    }
}

/// Looks up callers by their tokens. On a database server, concurrent look-ups share one query.
pub struct Callers(BatchLookup<Token, Arc<Identified>, Error>);

impl Callers {
    /// Creates the look-up, which finds the callers of tokens in the database of `store`.
    #[must_use]
    pub fn of(app: &'static App, store: &Store, clock: &Clock) -> Self {
        let (clock, keys) = (clock.clone(), Keys(Cache::new(CACHED_KEYS)));
        Self(BatchLookup::new(
            store.clone(),
            move |tx, tokens: &[Token]| {
                let (mut presented, mut links) = (Vec::new(), Vec::new());
                for token in tokens {
                    match token {
                        Token::Bearer(token) => presented.push(*token),
                        Token::Link(token) => links.push(token.clone()),
                    }
                }
                let mut callers = HashMap::new();
                if !presented.is_empty() {
                    let bearers = keys.find(tx, presented, clock.now())?;
                    callers.extend(
                        bearers
                            .into_iter()
                            .map(|(token, identified)| (Token::Bearer(token), identified)),
                    );
                }
                if !links.is_empty() {
                    let guests = (app.about.link.find)(tx, links)?;
                    callers.extend(
                        guests
                            .into_iter()
                            .map(|(token, identified)| (Token::Link(token), Arc::new(identified))),
                    );
                }
                Ok(callers)
            },
        ))
    }
}

/// Returns whether [`Callers`] can identify the caller of a request. [`Callers`] looks up a single
/// token, of an organization or of a guest's link. The platform key, and a request with a second
/// credential, need another look-up.
pub(super) fn is_plain(operation: &Operation, request: &Head) -> bool {
    match operation.surface {
        Surface::Public => true,
        Surface::Guest => !asks_for_another_time(request),
        Surface::Platform => false,
    }
}

/// Looks up a caller with one query for all waiting requests. The query begins after this request
/// has arrived, so it sees all earlier commits. Later queries of the request use other snapshots.
pub(super) async fn look_up_caller(call: &super::Call) -> Result<Caller> {
    let super::Call {
        service,
        operation,
        head,
        now,
    } = call;
    let identified = match operation.surface {
        Surface::Guest => {
            let caller = service
                .callers
                .0
                .look_up(Token::Link(link_token(head).unwrap_or_default().to_owned()))
                .await?;
            let caller = caller.filter(|identified| identified.is_valid(*now));
            caller.ok_or_else(|| Error::not_found(service.app.about.link.what))?
        }
        Surface::Public | Surface::Platform => {
            look_up_shared(
                service,
                bearer(&head.headers).ok_or(ErrorKind::Authentication)?,
                head.resource(),
                *now,
            )
            .await?
        }
    };
    service
        .organization_hints
        .remember(operation, head, identified.organization.id);
    Ok(Caller::Organization(identified))
}

async fn look_up_shared(
    service: &Service,
    token: &str,
    resource: Resource,
    now: Timestamp,
) -> Result<Arc<Identified>> {
    let presented = PresentedToken::of(token).ok_or(ErrorKind::Authentication)?;
    let caller = service
        .callers
        .0
        .look_up(Token::Bearer(presented))
        .await?
        .filter(|identified| identified.is_valid_at(resource) && identified.is_valid(now));
    caller.ok_or_else(|| ErrorKind::Authentication.into())
}

/// Returns the caller of a token. Caches the caller under the current version of the database
/// ([`store::Version`]), so the cached caller is valid until the database changes.
fn look_up(
    tx: &mut Transaction<'_>,
    service: &Service,
    token: &str,
    resource: Resource,
    now: Timestamp,
) -> Result<Arc<Identified>> {
    // Read the database's version before the caller, so that the cached caller is not older than
    // the version under which it is cached.
    let version = service.store.version();
    let identified = bearer_caller(tx, token, resource, now)?;
    if let Some(version) = version {
        service.memory.remember_caller(
            PresentedCredential::Bearer(token),
            version,
            identified.clone(),
        );
    }
    Ok(identified)
}

pub(super) fn identify(
    tx: &mut Transaction<'_>,
    service: &Service,
    operation: &Operation,
    request: &Head,
    now: Timestamp,
) -> Result<Caller> {
    let caller = match operation.surface {
        Surface::Public => {
            let token = bearer(&request.headers).ok_or(ErrorKind::Authentication)?;
            Caller::Organization(look_up(tx, service, token, request.resource(), now)?)
        }
        Surface::Platform => platform_caller(service, operation, request)?,
        Surface::Guest => {
            // Read the version of the SQLite database before the caller. If a write happens in
            // between, the cached caller is newer than its version, and the only effect is that the
            // caller is read again. In the other order, the caller could be older than its version,
            // and would remain cached after the write.
            let version = service.store.version();
            let identified = link_caller(tx, service.app, request, now)?;
            if let (Some(token), Some(version)) = (link_token(request), version) {
                service.memory.remember_caller(
                    PresentedCredential::Link(token),
                    version,
                    identified.clone(),
                );
            }
            Caller::Organization(identified)
        }
    };
    if let Caller::Organization(identified) = &caller {
        service
            .organization_hints
            .remember(operation, request, identified.organization.id);
    }
    Ok(caller)
}

/// Authenticates the caller again in a write transaction. The caller is not cached, because the
/// commit may fail.
pub(super) fn identify_again(
    tx: &mut Transaction<'_>,
    app: &App,
    operation: &Operation,
    request: &Head,
    now: Timestamp,
) -> Result<Option<Arc<Identified>>> {
    match (operation.surface, bearer(&request.headers)) {
        (Surface::Public, Some(token)) => {
            bearer_caller(tx, token, request.resource(), now).map(Some)
        }
        (Surface::Public, None) => member_caller(tx, request, now).map(Some),
        (Surface::Guest, _) => link_caller(tx, app, request, now).map(Some),
        (Surface::Platform, _) => Ok(None),
    }
}

/// Loads the signed-in member who calls an operation, with the current data of the member's
/// database row. A member sends no token, because the session has already identified the member.
/// Returns 401 if the member was deleted or is inactive.
fn member_caller(
    tx: &mut Transaction<'_>,
    request: &Head,
    now: Timestamp,
) -> Result<Arc<Identified>> {
    let caller = request
        .caller
        .as_ref()
        .filter(|caller| matches!(caller.access.credential, Credential::Member(_)));
    let caller = caller.ok_or(ErrorKind::Authentication)?;
    let caller = access::load(tx, caller.organization.id, caller.access.credential, now)?;
    caller.map(Arc::new).ok_or(ErrorKind::Authentication.into())
}

/// Finds the caller of a bearer token. Returns 401 for a token that is not valid for `resource`.
fn bearer_caller(
    tx: &mut Transaction<'_>,
    token: &str,
    resource: Resource,
    now: Timestamp,
) -> Result<Arc<Identified>> {
    let caller =
        access::find(tx, token, now)?.filter(|identified| identified.is_valid_at(resource));
    Ok(Arc::new(caller.ok_or(ErrorKind::Authentication)?))
}

/// Returns whether a token is a platform key. The comparison of digests of equal length reveals
/// neither the length of a key nor which key matched.
pub(super) fn is_platform_key(service: &Service, token: &str) -> bool {
    let token = Sha256::digest(token);
    let keys = &service.settings.platform_keys;
    let is_known = keys.iter().fold(Choice::from(0), |matches, key| {
        matches | Sha256::digest(key).as_slice().ct_eq(token.as_slice())
    });
    bool::from(is_known)
}

fn platform_caller(service: &Service, operation: &Operation, request: &Head) -> Result<Caller> {
    if !is_platform_key(service, bearer(&request.headers).unwrap_or_default()) {
        return Err(ErrorKind::Authentication.into());
    }
    if matches!(operation.work, Work::System(_)) {
        return Ok(Caller::Platform(Access::platform(), None));
    }
    let id = request
        .path
        .iter()
        .find(|(name, _)| name == ORGANIZATION_ID)
        .map(|(_, value)| value);
    let id = id
        .filter(|text| format::is_uuid(text))
        .and_then(|text| text.parse::<Uuid>().ok());
    Ok(Caller::Platform(
        Access::platform(),
        Some(id.ok_or_else(|| Error::malformed_id("Organization", ORGANIZATION_ID))?),
    ))
}

/// Finds the caller of a request whose path contains the token of a guest link or of a preview
/// link. With a guest link, a request may ask for the guest's view at another time than now. Only
/// people who configure this view need that, so such a request also needs a credential of the same
/// organization. A preview link was created by one of these people, so it needs no additional
/// credential.
fn link_caller(
    tx: &mut Transaction<'_>,
    app: &App,
    request: &Head,
    now: Timestamp,
) -> Result<Arc<Identified>> {
    let link = app.about.link;
    let token = link_token(request).unwrap_or_default();
    let caller = (link.find)(tx, vec![token.to_owned()])?
        .remove(token)
        .filter(|identified| identified.is_valid(now));
    let identified = caller.ok_or_else(|| Error::not_found(link.what))?;
    let is_preview = matches!(identified.access.credential, Credential::Preview { .. });
    if !is_preview && asks_for_another_time(request) {
        let previewer =
            bearer(&request.headers).map_or(Ok(None), |token| access::find(tx, token, now))?;
        let previewer = previewer.filter(|previewer| previewer.is_valid_at(Resource::Api));
        if previewer.is_none_or(|previewer| previewer.organization.id != identified.organization.id)
        {
            return Err(ErrorKind::Authentication.into());
        }
    }
    Ok(Arc::new(identified))
}

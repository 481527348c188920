//! Clients that register themselves (RFC 7591), as programs do that nobody has told of this server before.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use engine::access;
use engine::pipeline::Service;
use engine::surface::{Peer, note, request_id};
use engine::values;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};

use super::client_metadata::{Metadata, Method};
use super::refusal::{Code, Refusal};
use super::reply;
use crate::platform::new_secret;

store::statements! {
    /// A client that has registered itself. Nobody has allowed it anything yet.
    INSERT = "insert into oauth_app (id, created_at, updated_at, doc, idle_since, secret_hash) values (?1, ?2, ?2, ?3, ?2, ?4)";
}

/// 64 KiB: the greatest body that is read.
const BODY_LIMIT: usize = 64 << 10;
/// How long it may take to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// In which time registrations are counted.
const WINDOW: Duration = Duration::from_secs(3_600);
/// Registrations of one address in that time.
const MOST_OF_ONE: usize = 20;
/// Registrations in that time at all, at one node.
const MOST: usize = 1_000;

/// Who has registered clients of late, at this node; a part of the kit.
#[derive(Default)]
pub struct Registrations(Mutex<VecDeque<(Duration, IpAddr)>>);

impl Registrations {
    /// Counts one more of an address; refused, with the whole seconds after which there is room again, where there are too many.
    fn take(&self, peer: IpAddr, now: Duration) -> Result<(), u64> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while taken.front().is_some_and(|(at, _)| now.saturating_sub(*at) >= WINDOW) {
            taken.pop_front();
        }
        let own: Vec<Duration> = taken.iter().filter(|(_, address)| *address == peer).map(|(at, _)| *at).collect();
        let first = match (own.first(), taken.front()) {
            (Some(first), _) if own.len() >= MOST_OF_ONE => *first,
            (_, Some((first, _))) if taken.len() >= MOST => *first,
            _ => {
                taken.push_back((now, peer));
                return Ok(());
            }
        };
        Err((first + WINDOW).saturating_sub(now).as_secs().max(1))
    }
}

/// `POST /oauth/register`.
pub(super) async fn register(State(service): State<Arc<Service>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    let mut response = match registered(&service, &parts.headers, body, peer).await {
        Ok(client) => reply::json(StatusCode::CREATED, &client),
        Err(refusal) => {
            refusal.log("register", &peer.to_string(), request_id(&parts));
            refusal.answer()
        }
    };
    note(&mut response, "registerClient", None);
    response
}

/// What is answered is what is registered (RFC 7591, section 3.2.1): a secret is shown here once, and does not expire.
async fn registered(service: &Arc<Service>, headers: &HeaderMap, body: Body, peer: IpAddr) -> Result<Value, Refusal> {
    let metadata = Metadata::read(&read(headers, body).await?)?;
    let method = metadata.method()?;
    let about = metadata.strictly()?;
    let taken = service.kit.part::<Registrations>().map_or(Ok(()), |registrations| registrations.take(peer, service.clock.elapsed()));
    taken.map_err(|seconds| {
        Refusal::too_often("Too many clients have been registered from this address; wait as Retry-After says.", seconds)
    })?;
    let now = service.clock.now();
    let id = service.kit.ids.uuid(now);
    let secret = (method != Method::None).then(|| new_secret(&service.kit.ids));
    let hash = secret.as_deref().map_or(store::Value::Null, |secret| store::Value::Bytes(access::hash(secret)));
    let doc = store::Value::json(&about).map_err(engine::error::Error::from)?;
    service.store.write(move |tx| tx.execute(&INSERT, &values![id, now, doc, hash])).await.map_err(engine::error::Error::from)?;
    tracing::info!(client = %id, %peer, "a client has registered itself");
    let mut client = json!({
        "client_id": id,
        "client_id_issued_at": now.as_second(),
        "client_name": about.name,
        "redirect_uris": about.redirect_uris,
        "token_endpoint_auth_method": method.as_ref(),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    if let Some(secret) = secret {
        client["client_secret"] = secret.into();
        client["client_secret_expires_at"] = 0.into();
    }
    Ok(client)
}

async fn read(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Refusal::new(Code::InvalidClientMetadata, "The body must be application/json."));
    }
    let collected = tokio::time::timeout(BODY_DEADLINE, Limited::new(body, BODY_LIMIT).collect()).await;
    let unread = Refusal::new(Code::InvalidClientMetadata, "The body must be of at most 64 KiB, and arrive within 30 seconds.");
    Ok(collected.map_err(|_| unread.clone())?.map_err(|_| unread)?.to_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn peer(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn an_address_has_so_many_in_an_hour() {
        let registrations = Registrations::default();
        let minute = |number: u64| Duration::from_secs(60 * number);
        for number in 0..20 {
            assert_eq!(registrations.take(peer(1), minute(number)), Ok(()));
        }
        assert_eq!(registrations.take(peer(1), minute(20)), Err(40 * 60));
        assert_eq!(registrations.take(peer(2), minute(20)), Ok(()));
        assert_eq!(registrations.take(peer(1), minute(60)), Ok(()));
        assert!(registrations.take(peer(1), minute(60)).is_err());
    }

    #[test]
    fn all_addresses_together_have_a_bound() {
        let registrations = Registrations::default();
        let taken = (0..2_000).filter(|number| registrations.take(peer(*number), Duration::ZERO).is_ok()).count();
        assert_eq!((taken, registrations.0.lock().unwrap().len()), (MOST, MOST));
        assert_eq!(registrations.take(peer(0), WINDOW), Ok(()));
    }

    proptest! {
        #[test]
        fn no_hour_has_more_than_that(mut moments in proptest::collection::vec((0_u64..20_000, 0_u32..3), 0..200)) {
            moments.sort_unstable();
            let registrations = Registrations::default();
            let mut accepted = Vec::new();
            for (second, number) in moments {
                if registrations.take(peer(number), Duration::from_secs(second)).is_ok() {
                    accepted.push((second, number));
                }
            }
            for (second, number) in &accepted {
                let within = accepted.iter().filter(|(other, of)| of == number && other <= second && second - other < 3_600).count();
                prop_assert!(within <= MOST_OF_ONE);
            }
        }
    }
}

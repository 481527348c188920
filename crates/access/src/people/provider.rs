//! Sign-in with an OpenID provider (OpenID Connect Core 1.0, code flow; Discovery 1.0; PKCE, RFC
//! 7636). In this module, the service is the client of the provider. In `oauth`, the service is
//! itself the server.
//!
//! The server derives state, nonce and PKCE verifier of a sign-in from one secret in a cookie of
//! the browser. So the server stores nothing, and only the browser with the cookie can complete the
//! sign-in.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::clock::Clock;
use engine::error::innermost;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request as HttpRequest, Response as HttpResponse};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::discovery::{self, ProviderMetadata};
use super::form::{derive_token, is_derived_token};
use super::id_token::{self, ExpectedClaims, InvalidToken, PersonClaims};
use super::refusal::SignInError;

/// Deadline for all requests to the provider within one step of a sign-in.
const DEADLINE: Duration = Duration::from_secs(10);
/// Deadline for fetching the provider's metadata and keys. Several sign-ins can wait for the same
/// fetch, each with the longer [`DEADLINE`]. So if the fetch fails, they all see the failure, and
/// none of them fetches again.
const METADATA_DEADLINE: Duration = Duration::from_secs(7);
/// Maximum size of a response of the provider: 1 MiB.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// The user agent of requests to the provider.
const USER_AGENT: &str = "Vestibule-SignIn/1";
/// Time for which the provider's metadata and keys are cached.
const CACHE_LIFETIME: Duration = Duration::from_secs(300);
/// Minimum age of cached metadata that is fetched again because no cached key can verify a token.
/// Without a minimum age, each invalid token would cause a request to the provider.
const MIN_REFRESH_AGE: Duration = Duration::from_secs(30);
/// Time after a failed request for metadata during which sign-ins fail immediately. Otherwise each
/// sign-in would wait for the provider, even while it does not respond.
const RETRY_PAUSE: Duration = Duration::from_secs(3);
/// Maximum number of authorization codes that are exchanged at the same time.
const MAX_EXCHANGES: usize = 32;

/// The OpenID provider with which members sign in: its issuer, the credentials of this service at
/// the provider, the HTTP client, and the cached metadata.
pub struct IdentityProvider {
    issuer: String,
    client_id: String,
    client_secret: Option<String>,
    client: ProviderClient,
    cache: Mutex<CachedMetadata>,
    /// Limits the number of concurrent exchanges of authorization codes to [`MAX_EXCHANGES`].
    exchange_slots: Semaphore,
}

/// The HTTP client for requests to the provider.
struct ProviderClient {
    http: Client,
    /// Whether the client may use http for addresses on this machine. True if the issuer's address
    /// is an http address.
    allows_http: bool,
}

/// The provider's metadata in memory, and the time of the last attempt to fetch it, if that attempt
/// failed.
#[derive(Default)]
struct CachedMetadata {
    /// The metadata, and the reading of the monotonic clock when the metadata was fetched.
    metadata: Option<(Duration, Arc<ProviderMetadata>)>,
    /// The reading of the monotonic clock at the last attempt to fetch the metadata, if that
    /// attempt failed.
    failed_at: Option<Duration>,
}

/// The reason why a request to the provider failed.
#[derive(Debug)]
struct ProviderFailure(String);

impl std::fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderFailure {}

/// The values that are needed to exchange the authorization code with which the browser returns
/// from the provider.
pub(super) struct ProviderCallback<'a> {
    /// The redirect address of the authorization request.
    pub(super) redirect: &'a str,
    /// The secret of this sign-in, from a cookie of the browser.
    pub(super) secret: &'a str,
    pub(super) code: &'a str,
}

impl IdentityProvider {
    /// Creates the client of an OpenID provider. The provider's operator has assigned the client
    /// id, and a client secret if the provider requires one.
    pub fn new(
        issuer: &str,
        client_id: &str,
        client_secret: Option<String>,
    ) -> Result<Self, String> {
        let failed =
            |what: String| format!("cannot create the client of the sign-in provider: {what}");
        let http = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| failed(innermost(&error).to_string()))?;
        let url = Url::parse(issuer).map_err(|error| failed(error.to_string()))?;
        let allows_http = url.scheme() == "http";
        Ok(Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: client_secret.filter(|secret| !secret.is_empty()),
            client: ProviderClient { http, allows_http },
            cache: Mutex::default(),
            exchange_slots: Semaphore::new(MAX_EXCHANGES),
        })
    }

    /// Returns whether the `iss` parameter of an authorization response names this provider, or is
    /// missing (RFC 9207).
    pub(super) fn is_issuer(&self, issuer: Option<&str>) -> bool {
        issuer.is_none_or(|issuer| discovery::is_same_issuer(issuer, &self.issuer))
    }

    /// Begins a sign-in. Returns the address at the provider to which the server redirects the
    /// browser.
    pub(super) async fn begin(
        &self,
        clock: &Clock,
        redirect: &str,
        secret: &str,
    ) -> Result<Url, SignInError> {
        let authorization_url = async {
            let metadata = self.metadata(clock, CACHE_LIFETIME).await?;
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier(secret)));
            let mut url = metadata.authorization.clone();
            url.query_pairs_mut()
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client_id)
                .append_pair("redirect_uri", redirect)
                .append_pair("scope", SCOPES)
                .append_pair("state", &derive_token(secret, STATE))
                .append_pair("nonce", &nonce(secret))
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256");
            if self.client.is_protected(&url) {
                Ok(url)
            } else {
                Err(unavailable("its authorization endpoint is not https"))
            }
        };
        within(DEADLINE, authorization_url).await
    }

    /// Checks whether members can sign in: reads the provider's metadata and keys, and sends an
    /// authorization request. `vestibule doctor` shows the result: the number of keys, or an error
    /// text and the advice how to correct the error.
    pub async fn check_sign_in(
        &self,
        clock: &Clock,
        redirect: &str,
    ) -> Result<usize, (String, String)> {
        let message = |error: SignInError| match error {
            SignInError::ProviderUnavailable(text) => text,
            other => format!("{other:?}"),
        };
        let metadata = self
            .metadata(clock, CACHE_LIFETIME)
            .await
            .map_err(|error| {
                let remedy = "check --oidc-issuer, and whether this machine reaches the provider";
                (message(error), remedy.to_owned())
            })?;
        if metadata.keys.is_empty() || metadata.algorithms.is_empty() {
            let text = format!("{}: it publishes no usable key or algorithm", self.issuer);
            return Err((text, "let it sign ID tokens with RS256 or ES256".into()));
        }
        let status = async {
            let secret = URL_SAFE_NO_PAD.encode(Sha256::digest(redirect));
            let url = self
                .begin(clock, redirect, &secret)
                .await
                .map_err(message)?;
            let request = HttpRequest::get(url.as_str()).body(Vec::new());
            let request = request.map_err(|error| error.to_string())?;
            let response = self.client.send(request).await;
            Ok::<_, String>(response.map_err(|error| error.to_string())?.status())
        };
        match status.await {
            Ok(status) if status.is_client_error() => Err((
                format!("{}: it answers {status} to a sign-in", self.issuer),
                format!(
                    "register the client id {} with the redirect address {redirect} there",
                    self.client_id
                ),
            )),
            Ok(_) => Ok(metadata.keys.len()),
            Err(text) => Err((
                text,
                "check the authorization endpoint of the provider".into(),
            )),
        }
    }

    /// Exchanges the authorization code of a sign-in for tokens. Returns the verified mail address.
    pub(super) async fn finish(
        &self,
        clock: &Clock,
        callback: ProviderCallback<'_>,
    ) -> Result<String, SignInError> {
        let ProviderCallback {
            redirect,
            secret,
            code,
        } = callback;
        let verified_address = async {
            let metadata = self.metadata(clock, CACHE_LIFETIME).await?;
            let ProviderTokens { access, id } =
                self.exchange(&metadata, redirect, secret, code).await?;
            let nonce = nonce(secret);
            let expected = ExpectedClaims {
                issuer: &self.issuer,
                client_id: &self.client_id,
                nonce: &nonce,
                now: clock.now().as_second(),
            };
            let verified = match id_token::verify(&id, &metadata, expected) {
                Err(InvalidToken::NoKey) => {
                    // The provider may have changed its keys since the metadata was cached.
                    let metadata = self.metadata(clock, MIN_REFRESH_AGE).await?;
                    id_token::verify(&id, &metadata, expected)
                }
                verified => verified,
            };
            let person = verified.map_err(|error| self.invalid_claims(&error))?;
            let address = match person.address {
                None => self.userinfo_address(&metadata, &access, &person).await?,
                address => address,
            };
            match address {
                Some((address, true)) => Ok(address),
                Some((_, false)) => Err(self.unverified("email_verified is false; expected true")),
                None => Err(self.unverified(&format!(
                    "{} is missing in the ID token, and userinfo_endpoint does not give email and \
                     email_verified either; expected an address and true",
                    person.missing.unwrap_or("email"),
                ))),
            }
        };
        let _slot = self
            .exchange_slots
            .try_acquire()
            .map_err(|_| unavailable("too many sign-ins already wait for it"))?;
        within(DEADLINE, verified_address).await
    }

    /// Exchanges an authorization code for tokens (Core 1.0, 3.1.3.1; RFC 6749, section 4.1.3).
    async fn exchange(
        &self,
        metadata: &ProviderMetadata,
        redirect: &str,
        secret: &str,
        code: &str,
    ) -> Result<ProviderTokens, SignInError> {
        let request = self.token_request(metadata, redirect, secret, code)?;
        let response = self.client.send(request).await.map_err(unavailable)?;
        let document: Option<Value> = serde_json::from_slice(response.body()).ok();
        if !response.status().is_success() {
            let error = document
                .as_ref()
                .and_then(|document| document["error"].as_str());
            return Err(error.map_or_else(
                || unavailable(format!("token_endpoint answered {}", response.status())),
                |error| SignInError::ProviderRefused(error.to_owned()),
            ));
        }
        let text = |name: &str| {
            let text = document
                .as_ref()
                .and_then(|document| document[name].as_str());
            text.map(str::to_owned)
                .ok_or_else(|| unavailable(format!("the answer of token_endpoint has no {name}")))
        };
        Ok(ProviderTokens {
            access: text("access_token")?,
            id: text("id_token")?,
        })
    }

    /// Builds the request that exchanges an authorization code. The client secret is in the header
    /// or in the body, as the provider's metadata requires (RFC 6749, section 2.3.1).
    fn token_request(
        &self,
        metadata: &ProviderMetadata,
        redirect: &str,
        secret: &str,
        code: &str,
    ) -> Result<HttpRequest<Vec<u8>>, SignInError> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_verifier", &verifier(secret));
        let mut request = HttpRequest::post(metadata.token.as_str())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        match &self.client_secret {
            Some(secret) if !metadata.is_secret_in_body => {
                let encoded = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", encoded(&self.client_id), encoded(secret));
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)));
            }
            secret => {
                form.append_pair("client_id", &self.client_id);
                if let Some(secret) = secret {
                    form.append_pair("client_secret", secret);
                }
            }
        }
        request
            .body(form.finish().into_bytes())
            .map_err(unavailable)
    }

    /// Requests the mail address from the userinfo endpoint. This is needed if the ID token omits
    /// the address (Core 1.0, 5.3 and 5.4). Returns `None` if the provider has no such endpoint.
    async fn userinfo_address(
        &self,
        metadata: &ProviderMetadata,
        token: &str,
        person: &PersonClaims,
    ) -> Result<Option<(String, bool)>, SignInError> {
        let Some(userinfo) = &metadata.userinfo else {
            return Ok(None);
        };
        let request = HttpRequest::get(userinfo.as_str())
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(Vec::new()).map_err(unavailable)?;
        let response = self.client.send(request).await.map_err(unavailable)?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(unavailable(format!("userinfo_endpoint answered {status}")));
        }
        let claims = if is_signed(response.headers()) {
            let token = String::from_utf8_lossy(response.body());
            id_token::verify_signature(token.trim(), metadata)
                .map_err(|error| self.invalid_claims(&error))?
        } else {
            serde_json::from_slice(response.body())
                .map_err(|error| unavailable(format!("userinfo_endpoint: {error}")))?
        };
        if !claims.is_object() {
            return Err(unavailable("the answer of userinfo_endpoint is no object"));
        }
        let userinfo_claims =
            PersonClaims::read(&claims).map_err(|error| self.invalid_claims(&error))?;
        if userinfo_claims.subject == person.subject {
            return Ok(userinfo_claims.address);
        }
        let reason = "sub of userinfo_endpoint is not that of the ID token".into();
        Err(self.invalid_claims(&InvalidToken::Claim(reason)))
    }

    /// Returns the error for an invalid token or invalid claims. Its text for the log contains the
    /// issuer.
    fn invalid_claims(&self, error: &InvalidToken) -> SignInError {
        SignInError::InvalidClaims(format!("{}: {error}", self.issuer))
    }

    /// Returns the error for a mail address that is not verified. Its text for the log contains the
    /// issuer.
    fn unverified(&self, cause: &str) -> SignInError {
        SignInError::UnverifiedAddress(format!("{}: {cause}", self.issuer))
    }

    /// Fetches and parses a JSON document of the provider.
    async fn document(&self, name: &str, url: &str) -> Result<Value, SignInError> {
        let request = HttpRequest::get(url).header(ACCEPT, "application/json");
        let request = request.body(Vec::new()).map_err(unavailable)?;
        let failed = |what: String| unavailable(format!("{}: {name}: {what}", self.issuer));
        let response = self.client.send(request).await;
        let response = response.map_err(|error| failed(error.to_string()))?;
        if response.status() != http::StatusCode::OK {
            return Err(failed(format!("answered {}", response.status())));
        }
        serde_json::from_slice(response.body()).map_err(|error| failed(error.to_string()))
    }

    /// Fetches the provider's metadata and keys.
    async fn fetch_metadata(&self) -> Result<ProviderMetadata, SignInError> {
        let base = self.issuer.trim_end_matches('/');
        let at = format!("{base}/.well-known/openid-configuration");
        let document = self.document("discovery", &at).await?;
        let failed = |what: String| unavailable(format!("{}: {what}", self.issuer));
        let mut metadata = ProviderMetadata::read(&document, &self.issuer).map_err(failed)?;
        let keys = self.document("jwks_uri", metadata.jwks.as_str()).await?;
        metadata.keys = discovery::keys(&keys).map_err(failed)?;
        Ok(metadata)
    }

    /// Returns the provider's metadata with keys, from the cache if it is not older than `max_age`.
    async fn metadata(
        &self,
        clock: &Clock,
        max_age: Duration,
    ) -> Result<Arc<ProviderMetadata>, SignInError> {
        let mut cache = self.cache.lock().await;
        let is_within = |since: Duration, time| clock.elapsed().saturating_sub(since) < time;
        if let Some((_, metadata)) = cache
            .metadata
            .as_ref()
            .filter(|(since, _)| is_within(*since, max_age))
        {
            return Ok(metadata.clone());
        }
        if cache
            .failed_at
            .is_some_and(|since| is_within(since, RETRY_PAUSE))
        {
            return Err(unavailable(
                "it did not answer a moment ago; it is asked again shortly",
            ));
        }
        let fetched = within(METADATA_DEADLINE, self.fetch_metadata()).await;
        cache.failed_at = fetched.is_err().then(|| clock.elapsed());
        let metadata = Arc::new(fetched?);
        cache.metadata = Some((clock.elapsed(), metadata.clone()));
        Ok(metadata)
    }
}

impl ProviderClient {
    /// Returns whether a request to this address is protected against eavesdropping: the address
    /// uses https, or both the address and the issuer are on this machine.
    fn is_protected(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.allows_http && url.scheme() == "http" && is_loopback(url))
    }

    /// Sends a request to the provider. Refuses an endpoint that is not https. Does not follow
    /// redirects, and limits the size of the response.
    async fn send(
        &self,
        request: HttpRequest<Vec<u8>>,
    ) -> Result<HttpResponse<Vec<u8>>, ProviderFailure> {
        let failure = |error: reqwest::Error| {
            let error = error.without_url();
            ProviderFailure(if error.is_timeout() {
                "timed out".to_owned()
            } else {
                innermost(&error).to_string()
            })
        };
        let request = reqwest::Request::try_from(request).map_err(failure)?;
        if !self.is_protected(request.url()) {
            return Err(ProviderFailure("one of its endpoints is not https".into()));
        }
        let mut response = self.http.execute(request).await.map_err(failure)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failure)? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(ProviderFailure("its answer is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        let mut result = HttpResponse::new(body);
        *result.status_mut() = response.status();
        std::mem::swap(result.headers_mut(), response.headers_mut());
        Ok(result)
    }
}

/// The scopes that a sign-in requests from the provider.
const SCOPES: &str = "openid email";
/// The purpose with which [`derive_token`] derives the `state` parameter. The secret is in the
/// browser's cookie, so the parameter binds the provider's response to this browser.
const STATE: &str = "state";

/// Returns whether `sent` is the state that is derived from the secret of this sign-in.
pub(super) fn is_state(sent: &str, secret: &str) -> bool {
    is_derived_token(sent, secret, STATE)
}

fn nonce(secret: &str) -> String {
    derive_token(secret, "nonce")
}

/// Returns the PKCE verifier that is derived from a secret. It has 43 characters, the required
/// minimum (RFC 7636, 4.1).
fn verifier(secret: &str) -> String {
    derive_token(secret, "verifier")
}

/// The tokens that the provider returns in exchange for an authorization code.
struct ProviderTokens {
    access: String,
    id: String,
}

/// Returns whether a userinfo response is a signed token instead of plain JSON (OpenID Connect Core
/// 1.0, section 5.3.2).
fn is_signed(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/jwt"))
}

/// Awaits a request to the provider. Fails if the request does not end within the deadline.
async fn within<T>(
    deadline: Duration,
    operation: impl Future<Output = Result<T, SignInError>>,
) -> Result<T, SignInError> {
    tokio::time::timeout(deadline, operation)
        .await
        .unwrap_or_else(|_| Err(unavailable("timed out")))
}

fn unavailable(cause: impl std::fmt::Display) -> SignInError {
    SignInError::ProviderUnavailable(cause.to_string())
}

/// Returns whether the host of a URL is `localhost` or a loopback address, so that the URL leads to
/// this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

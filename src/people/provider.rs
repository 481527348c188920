//! The organization's own OpenID provider (OpenID Connect Core 1.0, code flow; Discovery 1.0; PKCE, RFC 7636).
//!
//! What a sign-in under way is made of, state, nonce and the verifier of PKCE, is derived from one secret that a cookie of the
//! browser holds. So nothing of it is stored, and whoever does not have the cookie can end nobody's sign-in.

use std::sync::Arc;
use std::time::Duration;

use engine::clock::Clock;
use engine::error::innermost;
use futures_util::future::BoxFuture;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreTokenResponse,
    CoreUserInfoClaims,
};
use openidconnect::{
    AccessToken, AccessTokenHash, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    DiscoveryError, EndUserEmail, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl,
    JwsSigningAlgorithm as _, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, SubjectIdentifier, TokenResponse as _, UserInfoError,
};
use reqwest::Client;
use reqwest::redirect::Policy;
use tokio::sync::{Mutex, Semaphore};
use url::Url;

use super::form::{derived, is_derived};
use super::refusal::Refusal;

/// How long the provider may take for all that is asked of it at once.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long of that it may take to say what it is: less, so that of those who wait for it at the same time none begins anew.
const INTRODUCTION: Duration = Duration::from_secs(7);
/// 1 MiB: the greatest answer that is read.
const ANSWER_LIMIT: usize = 1 << 20;
/// How the service introduces itself to the provider.
const USER_AGENT: &str = "Vestibule-SignIn/1";
/// How long what the provider says of itself, its keys among it, is good.
const KEPT_FOR: Duration = Duration::from_secs(300);
/// How old it is at the least before it is asked for again because of a key that it lacks.
const ASKED_AGAIN: Duration = Duration::from_secs(30);
/// How long a provider that did not answer is not asked again, so that not everybody waits for it.
const PAUSE: Duration = Duration::from_secs(3);
/// Codes that may be at the provider at once.
const AT_ONCE: usize = 32;

/// A client of the provider, as far as its endpoints are known.
type Oidc = CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// The organization's own provider.
pub struct Provider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    line: Line,
    known: Mutex<Known>,
    places: Semaphore,
}

/// How the provider is asked.
struct Line {
    http: Client,
    /// Whether the issuer is on this machine, where http will do.
    is_to_itself: bool,
}

impl<'c> AsyncHttpClient<'c> for Line {
    type Error = Unheard;
    type Future = BoxFuture<'c, Result<HttpResponse, Unheard>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.ask(request))
    }
}

/// What is known of the provider, and since when.
#[derive(Default)]
struct Known {
    said: Option<(Duration, Arc<CoreProviderMetadata>)>,
    silent_since: Option<Duration>,
}

/// Why nothing came of a request to the provider.
#[derive(Debug)]
struct Unheard(String);

impl std::fmt::Display for Unheard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unheard {}

/// What the provider answers a browser that it sends back.
pub(super) struct Answer<'a> {
    /// Where it sends it back to, as it was asked.
    pub(super) redirect: &'a str,
    /// What the sign-in is bound to.
    pub(super) secret: &'a str,
    /// The code.
    pub(super) code: &'a str,
}

impl Provider {
    /// The provider of an issuer, at which this service is known by an id and, where it has one, a secret.
    pub fn new(issuer: &str, client_id: &str, client_secret: Option<String>) -> Result<Self, String> {
        let failed = |what: String| format!("people cannot sign in at the provider: {what}");
        let http = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .no_proxy()
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| failed(innermost(&error).to_string()))?;
        let issuer = IssuerUrl::new(issuer.to_owned()).map_err(|error| failed(error.to_string()))?;
        let is_to_itself = issuer.url().scheme() == "http";
        Ok(Self {
            issuer,
            client_id: ClientId::new(client_id.to_owned()),
            client_secret: client_secret.filter(|secret| !secret.is_empty()).map(ClientSecret::new),
            line: Line { http, is_to_itself },
            known: Mutex::default(),
            places: Semaphore::new(AT_ONCE),
        })
    }

    /// Whether an answer that names its issuer (RFC 9207) names this one.
    pub(super) fn is_of(&self, issuer: Option<&str>) -> bool {
        issuer.is_none_or(|issuer| issuer == self.issuer.as_str())
    }

    /// Where a browser goes to sign in, and is to come back from.
    pub(super) async fn begin(&self, clock: &Clock, redirect: &str, secret: &str) -> Result<Url, Refusal> {
        let asked = async {
            let metadata = self.metadata(clock, KEPT_FOR).await?;
            let client = self.client(&metadata, redirect)?;
            let (state, nonce) = (derived(secret, STATE), nonce(secret));
            let verifier = PkceCodeVerifier::new(verifier(secret));
            let (url, ..) = client
                .authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || CsrfToken::new(state), move || nonce)
                .add_scope(Scope::new("email".into()))
                .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
                .url();
            if self.line.carries(&url) { Ok(url) } else { Err(down("its authorization endpoint is not https")) }
        };
        in_time(DEADLINE, asked).await
    }

    /// The mail address that the provider vouches for, of whoever comes back with a code.
    pub(super) async fn finish(&self, clock: &Clock, answer: Answer<'_>) -> Result<String, Refusal> {
        let Answer { redirect, secret, code } = answer;
        let asked = async {
            let metadata = self.metadata(clock, KEPT_FOR).await?;
            let client = self.client(&metadata, redirect)?;
            let exchange = client.exchange_code(AuthorizationCode::new(code.to_owned())).map_err(down)?;
            let exchange = exchange.set_pkce_verifier(PkceCodeVerifier::new(verifier(secret)));
            let tokens = exchange.request_async(&self.line).await.map_err(|error| match error {
                RequestTokenError::ServerResponse(refusal) => Refusal::ProviderRefused(refusal.error().to_string()),
                error => down(innermost(&error)),
            })?;
            let said = match told(clock, &client, &tokens, &nonce(secret)) {
                Err(ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey)) => {
                    // It may have another key by now.
                    let metadata = self.metadata(clock, ASKED_AGAIN).await?;
                    told(clock, &self.client(&metadata, redirect)?, &tokens, &nonce(secret))
                }
                said => said,
            };
            let Told { subject, address } = said.map_err(|error| disbelieved(&error))?;
            let address = match address {
                None => self.told_besides(&client, tokens.access_token(), subject).await?,
                told => told,
            };
            address.and_then(Address::vouched).ok_or(Refusal::Unverified)
        };
        let _place = self.places.try_acquire().map_err(|_| down("too many sign-ins wait for it"))?;
        in_time(DEADLINE, asked).await
    }

    /// What the provider says of an address where the ID token says nothing of one: its endpoint for that is where it need say it
    /// (Core 1.0, 5.3 and 5.4). Nothing where it has none.
    async fn told_besides(&self, client: &Oidc, token: &AccessToken, subject: SubjectIdentifier) -> Result<Option<Address>, Refusal> {
        let Ok(request) = client.user_info(token.clone(), Some(subject)) else { return Ok(None) };
        let claims: CoreUserInfoClaims = request.request_async(&self.line).await.map_err(|error| match error {
            UserInfoError::ClaimsVerification(error) => disbelieved(&error),
            error => down(innermost(&error)),
        })?;
        Ok(Address::told(claims.email(), claims.email_verified()))
    }

    /// What the provider says of itself, no older than this.
    async fn metadata(&self, clock: &Clock, oldest: Duration) -> Result<Arc<CoreProviderMetadata>, Refusal> {
        let mut known = self.known.lock().await;
        let is_within = |since: Duration, time| clock.elapsed().saturating_sub(since) < time;
        if let Some((_, metadata)) = known.said.as_ref().filter(|(since, _)| is_within(*since, oldest)) {
            return Ok(metadata.clone());
        }
        if known.silent_since.is_some_and(|since| is_within(since, PAUSE)) {
            return Err(down("it did not answer a moment ago"));
        }
        let asked = async {
            let discovered = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.line).await;
            discovered.map_err(|error: DiscoveryError<Unheard>| down(innermost(&error)))
        };
        let discovered = in_time(INTRODUCTION, asked).await;
        known.silent_since = discovered.is_err().then(|| clock.elapsed());
        let metadata = discovered?;
        // With keys of its own: no shared secret, and not unsigned (Core 1.0, 3.1.3.7: RS256 is what all have).
        let is_of_key = |one: &CoreJwsSigningAlgorithm| !one.uses_shared_secret() && *one != CoreJwsSigningAlgorithm::None;
        let algorithms = metadata.id_token_signing_alg_values_supported().iter().filter(|one| is_of_key(one)).cloned().collect();
        let metadata = Arc::new(metadata.set_id_token_signing_alg_values_supported(algorithms));
        known.said = Some((clock.elapsed(), metadata.clone()));
        Ok(metadata)
    }

    fn client(&self, metadata: &CoreProviderMetadata, redirect: &str) -> Result<Oidc, Refusal> {
        let redirect = RedirectUrl::new(redirect.to_owned()).map_err(down)?;
        let client = CoreClient::from_provider_metadata(metadata.clone(), self.client_id.clone(), self.client_secret.clone());
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_none_or(|methods| methods.contains(&method));
        let is_in_body = !takes(CoreClientAuthMethod::ClientSecretBasic) && takes(CoreClientAuthMethod::ClientSecretPost);
        let auth = if is_in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        Ok(client.set_redirect_uri(redirect).set_auth_type(auth))
    }
}

impl Line {
    /// Whether nobody in between can read what is sent to an address, or it is one of the machine's own as the issuer is.
    fn carries(&self, url: &Url) -> bool {
        url.scheme() == "https" || (self.is_to_itself && url.scheme() == "http" && is_loopback(url))
    }

    /// Asks the provider one thing: without a redirect, and for as much as is read.
    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, Unheard> {
        let heard = |error: reqwest::Error| {
            let error = error.without_url();
            Unheard(if error.is_timeout() { "timed out".to_owned() } else { innermost(&error).to_string() })
        };
        let request = reqwest::Request::try_from(request).map_err(heard)?;
        if !self.carries(request.url()) {
            return Err(Unheard("an endpoint of it is not https".into()));
        }
        let mut response = self.http.execute(request).await.map_err(heard)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(heard)? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(Unheard("its answer is too large".into()));
            }
            body.extend_from_slice(&chunk);
        }
        let mut answer = HttpResponse::new(body);
        *answer.status_mut() = response.status();
        std::mem::swap(answer.headers_mut(), response.headers_mut());
        Ok(answer)
    }
}

/// What the state of a sign-in is made for: it keeps the answer of the provider to this browser.
const STATE: &str = "state";

/// Whether a state is that of a sign-in that is bound to a secret.
pub(super) fn is_state(sent: &str, secret: &str) -> bool {
    is_derived(sent, secret, STATE)
}

fn nonce(secret: &str) -> Nonce {
    Nonce::new(derived(secret, "nonce"))
}

/// 43 characters, as many as there have to be (RFC 7636, 4.1).
fn verifier(secret: &str) -> String {
    derived(secret, "verifier")
}

/// What an ID token says: of whom, and of their mail address, where it says something of that.
struct Told {
    subject: SubjectIdentifier,
    address: Option<Address>,
}

/// A mail address, and whether the provider vouches for it (Core 1.0, 5.1).
struct Address {
    text: String,
    is_verified: bool,
}

impl Address {
    /// What is told of one; nothing where it is not told whether it is verified.
    fn told(email: Option<&EndUserEmail>, is_verified: Option<bool>) -> Option<Self> {
        Some(Self { text: email?.as_str().to_owned(), is_verified: is_verified? })
    }

    /// The address, where the provider vouches for it.
    fn vouched(self) -> Option<String> {
        self.is_verified.then_some(self.text)
    }
}

/// What an ID token says, where it can be believed (Core 1.0, 3.1.3.7), is for this client, and the access token beside it is its own
/// (3.1.3.8).
fn told(clock: &Clock, client: &Oidc, tokens: &CoreTokenResponse, nonce: &Nonce) -> Result<Told, ClaimsVerificationError> {
    let wrong = |what: &str| ClaimsVerificationError::Other(what.to_owned());
    let token = tokens.id_token().ok_or_else(|| wrong("there is none"))?;
    let now = || chrono::DateTime::from_timestamp_millis(clock.now().as_millisecond()).unwrap_or_default();
    let verifier = client.id_token_verifier().set_time_fn(now);
    let claims = token.claims(&verifier, nonce)?;
    if claims.authorized_party().is_some_and(|party| party != client.client_id()) {
        return Err(wrong("it is for another client"));
    }
    if let Some(hash) = claims.access_token_hash() {
        let key = token.signing_key(&verifier).map_err(ClaimsVerificationError::SignatureVerification)?;
        let algorithm = token.signing_alg().map_err(ClaimsVerificationError::SignatureVerification)?;
        let own = AccessTokenHash::from_token(tokens.access_token(), algorithm, key).map_err(|error| wrong(&error.to_string()))?;
        if own != *hash {
            return Err(wrong("it is of another access token"));
        }
    }
    Ok(Told { subject: claims.subject().clone(), address: Address::told(claims.email(), claims.email_verified()) })
}

fn disbelieved(error: &ClaimsVerificationError) -> Refusal {
    Refusal::Disbelieved(innermost(error).to_string())
}

/// What comes of something within a deadline.
async fn in_time<T>(deadline: Duration, asked: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    tokio::time::timeout(deadline, asked).await.unwrap_or_else(|_| Err(down("timed out")))
}

fn down(cause: impl std::fmt::Display) -> Refusal {
    Refusal::ProviderDown(cause.to_string())
}

/// Whether an address is one of the machine itself.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

//! Orders a certificate: account, order, challenges, certificate.

use std::sync::Arc;
use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, Identifier,
    KeyAuthorization, NewAccount, NewOrder, Order, OrderStatus, Problem, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use reqwest::Client;
use rustls::pki_types::PrivateKeyDer;
use serde::{Deserialize, Serialize};
use vestibule_http::server::Tls;

use super::AcmeSettings;
use super::client::AuthorityClient;
use super::folder::CertificateFolder;

/// How long the authority may take to check the host names, and to issue the certificate.
const POLLING: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(120));
/// The type of the problem of an account that the authority does not know.
const UNKNOWN_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// A certificate authority, and the names of the certificate that it issues.
pub(super) struct Authority {
    client: Client,
    names: Vec<String>,
    email: Option<String>,
    directory: String,
}

/// A certificate that was issued.
pub(super) struct Obtained {
    /// The private key in PEM.
    pub(super) key: String,
    /// The certificate and its intermediate certificates in PEM.
    pub(super) chain: String,
}

/// An account as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredAccount {
    /// The address that the authority was given.
    email: Option<String>,
    credentials: AccountCredentials,
}

impl Authority {
    pub(super) fn new(client: Client, settings: &AcmeSettings) -> Self {
        Self {
            client,
            names: settings.names.clone(),
            email: settings.email.clone(),
            directory: settings.directory.clone(),
        }
    }

    /// Orders a certificate. The challenges are answered by `tls`.
    pub(super) async fn order(
        &self,
        folder: &Arc<CertificateFolder>,
        tls: &Tls,
    ) -> Result<Obtained, String> {
        match self.order_with_stored(folder, tls).await {
            Ok(Some(obtained)) => return Ok(obtained),
            Ok(None) => {}
            Err(Error::Api(problem)) if problem.r#type.as_deref() == Some(UNKNOWN_ACCOUNT) => {
                tracing::warn!(
                    "the certificate authority does not know the stored account; registering another"
                );
            }
            Err(error) => return Err(plain(error)),
        }
        let account = self.register(folder).await?;
        self.order_with(&account, tls).await.map_err(plain)
    }

    /// Orders a certificate with the stored account, if there is one.
    async fn order_with_stored(
        &self,
        folder: &Arc<CertificateFolder>,
        tls: &Tls,
    ) -> Result<Option<Obtained>, Error> {
        let text = |error: String| Error::Other(error.into());
        let Some(json) = folder.account().map_err(text)? else {
            return Ok(None);
        };
        let Ok(stored) = serde_json::from_slice::<StoredAccount>(&json) else {
            tracing::warn!(folder = %folder.path().display(), "cannot read the stored account of the certificate authority; registering another");
            return Ok(None);
        };
        let account = Account::builder_with_http(Box::new(AuthorityClient(self.client.clone())))
            .from_credentials(stored.credentials)
            .await?;
        if stored.email != self.email {
            let contact = self.contact();
            let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
            account.update_contacts(&contact).await?;
            // The credentials were used up, and cannot be copied.
            let again: StoredAccount = serde_json::from_slice(&json)?;
            let stored = self.store_account(folder, again.credentials).await;
            stored.map_err(text)?;
        }
        self.order_with(&account, tls).await.map(Some)
    }

    /// Registers an account, and stores it.
    async fn register(&self, folder: &Arc<CertificateFolder>) -> Result<Account, String> {
        let contact = self.contact();
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let (account, credentials) =
            Account::builder_with_http(Box::new(AuthorityClient(self.client.clone())))
                .create(&new, self.directory.clone(), None)
                .await
                .map_err(plain)?;
        self.store_account(folder, credentials).await?;
        tracing::info!(
            account = account.id(),
            "registered an account at the certificate authority"
        );
        Ok(account)
    }

    async fn store_account(
        &self,
        folder: &Arc<CertificateFolder>,
        credentials: AccountCredentials,
    ) -> Result<(), String> {
        let stored = StoredAccount {
            email: self.email.clone(),
            credentials,
        };
        let json = serde_json::to_string(&stored).map_err(|error| error.to_string())?;
        let folder = folder.clone();
        let stored = tokio::task::spawn_blocking(move || folder.store_account(&json)).await;
        stored.map_err(|error| error.to_string())?
    }

    fn contact(&self) -> Option<String> {
        self.email.as_ref().map(|email| format!("mailto:{email}"))
    }

    async fn order_with(&self, account: &Account, tls: &Tls) -> Result<Obtained, Error> {
        let names: Vec<Identifier> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await?;
        answer_challenges(&mut order, tls).await?;
        match order.poll_ready(&POLLING).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) => return Err(refusal(&mut order, None).await),
            Err(Error::Api(problem)) => return Err(refusal(&mut order, Some(problem)).await),
            Err(error) => return Err(error),
        }
        tracing::info!(
            "the certificate authority has checked the host names; it issues the certificate"
        );
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&POLLING).await?;
        Ok(Obtained { key, chain })
    }
}

/// Answers the challenge for each host name that the authority has not checked yet.
async fn answer_challenges(order: &mut Order, tls: &Tls) -> Result<(), Error> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        let name = authorization.identifier().to_string();
        match authorization.status {
            AuthorizationStatus::Valid => continue,
            AuthorizationStatus::Pending => {}
            status => {
                let reason = format!("the authorization of {name} is {status:?}");
                return Err(Error::Other(reason.into()));
            }
        }
        let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
            let reason = format!("the authority offers no check of {name} by TLS-ALPN-01");
            return Err(Error::Other(reason.into()));
        };
        answer(&name, &challenge.key_authorization(), tls)?;
        challenge.set_ready().await?;
        tracing::info!(
            name,
            "the certificate authority now connects to port 443 of the host name"
        );
    }
    Ok(())
}

/// Has `tls` answer a challenge with the certificate of RFC 8737, section 3.
fn answer(name: &str, authorization: &KeyAuthorization, tls: &Tls) -> Result<(), Error> {
    let digest = authorization.digest();
    let made = || {
        let mut parameters = CertificateParams::new([name.to_owned()])?;
        parameters.distinguished_name = DistinguishedName::new();
        parameters.custom_extensions = vec![CustomExtension::new_acme_identifier(digest.as_ref())];
        let key = KeyPair::generate()?;
        parameters
            .self_signed(&key)
            .map(|certificate| (certificate, key))
    };
    let (certificate, key): (_, KeyPair) =
        made().map_err(|error: rcgen::Error| Error::Other(error.into()))?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    tls.answer_challenge(name, certificate.der().clone(), key)
        .map_err(|error| Error::Other(error.into()))
}

/// Returns the reason why an order was refused: that of a host name, or else that of the order.
async fn refusal(order: &mut Order, of_order: Option<Problem>) -> Error {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        let name = authorization.identifier().to_string();
        let mut challenges = authorization.challenges.iter();
        if let Some(problem) = challenges.find_map(|challenge| challenge.error.as_ref()) {
            return Error::Other(format!("{name} was not accepted: {}", told(problem)).into());
        }
    }
    of_order.map_or_else(
        || Error::Other("the certificate authority has refused the order without a reason".into()),
        Error::Api,
    )
}

/// Returns a failure of an order in words.
fn plain(error: Error) -> String {
    match error {
        Error::Api(problem) => format!("the certificate authority refuses: {}", told(&problem)),
        Error::Json(error) => {
            format!("the certificate authority answers something else than ACME: {error}")
        }
        Error::Timeout(_) => "the certificate authority did not complete the order in time".into(),
        error => error.to_string(),
    }
}

/// Returns a problem in words: its details, those of host names, and its type.
fn told(problem: &Problem) -> String {
    let details = problem.detail.iter().cloned();
    let of_names = problem.subproblems.iter().map(ToString::to_string);
    let kind = problem.r#type.iter().map(|kind| format!("({kind})"));
    details
        .chain(of_names)
        .chain(kind)
        .collect::<Vec<_>>()
        .join(" ")
}

//! Orders a certificate from an authority: registers an account, creates an order, answers the
//! challenges for the host names, and downloads the certificate.

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
use super::client::AcmeHttpClient;
use super::folder::CertificateFolder;

/// The pauses between requests for the state of an order, and a time limit. The time limit applies
/// to two waits: the first for the checks of the host names, the second for the issue of the
/// certificate.
const POLLING: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(120));
/// The `type` of the ACME error with which an authority refuses an unknown account.
const UNKNOWN_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// A certificate authority, and the host names to order a certificate for.
pub(super) struct Authority {
    client: Client,
    names: Vec<String>,
    email: Option<String>,
    directory: String,
}

/// A certificate that the authority has issued.
pub(super) struct IssuedCertificate {
    /// The private key in PEM.
    pub(super) key: String,
    /// The certificate and its intermediate certificates in PEM.
    pub(super) chain: String,
}

/// The content of the file in which the account is stored.
#[derive(Serialize, Deserialize)]
struct StoredAccount {
    /// The mail address that the authority has for the account.
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

    /// Orders a certificate. Registers an account if none is stored, or if the authority does not
    /// know the stored account. `tls` answers the challenges.
    pub(super) async fn order(
        &self,
        folder: &Arc<CertificateFolder>,
        tls: &Tls,
    ) -> Result<IssuedCertificate, String> {
        match self.order_with_stored(folder, tls).await {
            Ok(Some(obtained)) => return Ok(obtained),
            Ok(None) => {}
            Err(Error::Api(problem)) if problem.r#type.as_deref() == Some(UNKNOWN_ACCOUNT) => {
                tracing::warn!(
                    "the certificate authority does not know the stored account; registering \
                        another"
                );
            }
            Err(error) => return Err(describe_error(error)),
        }
        let account = self.register(folder).await?;
        self.order_with_account(&account, tls)
            .await
            .map_err(describe_error)
    }

    /// Orders a certificate with the stored account. Returns `None` if no account is stored, or if
    /// the stored account cannot be read.
    async fn order_with_stored(
        &self,
        folder: &Arc<CertificateFolder>,
        tls: &Tls,
    ) -> Result<Option<IssuedCertificate>, Error> {
        let text = |error: String| Error::Other(error.into());
        let Some(json) = folder.account().map_err(text)? else {
            return Ok(None);
        };
        let Ok(stored) = serde_json::from_slice::<StoredAccount>(&json) else {
            tracing::warn!(
                folder = %folder.path().display(),
                "cannot read the stored account of the certificate authority; registering another"
            );
            return Ok(None);
        };
        let account = Account::builder_with_http(Box::new(AcmeHttpClient(self.client.clone())))
            .from_credentials(stored.credentials)
            .await?;
        if stored.email != self.email {
            let contact = self.contact();
            let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
            account.update_contacts(&contact).await?;
            // The account was built from the parsed credentials, which cannot be cloned. So the
            // JSON is parsed again.
            let stored: StoredAccount = serde_json::from_slice(&json)?;
            let result = self.store_account(folder, stored.credentials).await;
            result.map_err(text)?;
        }
        self.order_with_account(&account, tls).await.map(Some)
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
            Account::builder_with_http(Box::new(AcmeHttpClient(self.client.clone())))
                .create(&new, self.directory.clone(), None)
                .await
                .map_err(describe_error)?;
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
        let result = tokio::task::spawn_blocking(move || folder.store_account(&json)).await;
        result.map_err(|error| error.to_string())?
    }

    /// Returns the operator's mail address as a URL, by which the authority can contact the
    /// operator.
    fn contact(&self) -> Option<String> {
        self.email.as_ref().map(|email| format!("mailto:{email}"))
    }

    /// Orders a certificate for the configured host names, with this account at the authority.
    async fn order_with_account(
        &self,
        account: &Account,
        tls: &Tls,
    ) -> Result<IssuedCertificate, Error> {
        let names: Vec<Identifier> = self.names.iter().cloned().map(Identifier::Dns).collect();
        let mut order = account.new_order(&NewOrder::new(&names)).await?;
        answer_challenges(&mut order, tls).await?;
        match order.poll_ready(&POLLING).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) => return Err(order_error(&mut order, None).await),
            Err(Error::Api(problem)) => return Err(order_error(&mut order, Some(problem)).await),
            Err(error) => return Err(error),
        }
        tracing::info!(
            "the certificate authority has checked the host names; it issues the certificate"
        );
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&POLLING).await?;
        Ok(IssuedCertificate { key, chain })
    }
}

/// Answers the challenges of an order. For each host name that the authority has not checked yet,
/// prepares the response and asks the authority to check the name.
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
        install_challenge(&name, &challenge.key_authorization(), tls)?;
        challenge.set_ready().await?;
        tracing::info!(
            name,
            "the certificate authority now connects to port 443 of the host name"
        );
    }
    Ok(())
}

/// Makes `tls` answer the challenge for a host name with the certificate that RFC 8737, section 3,
/// describes.
fn install_challenge(name: &str, authorization: &KeyAuthorization, tls: &Tls) -> Result<(), Error> {
    let digest = authorization.digest();
    let create = || {
        let mut parameters = CertificateParams::new([name.to_owned()])?;
        parameters.distinguished_name = DistinguishedName::new();
        parameters.custom_extensions = vec![CustomExtension::new_acme_identifier(digest.as_ref())];
        let key = KeyPair::generate()?;
        parameters
            .self_signed(&key)
            .map(|certificate| (certificate, key))
    };
    let (certificate, key): (_, KeyPair) =
        create().map_err(|error: rcgen::Error| Error::Other(error.into()))?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    tls.answer_challenge(name, certificate.der().clone(), key)
        .map_err(|error| Error::Other(error.into()))
}

/// Returns the error of a rejected order: the error of a host name if there is one, because it is
/// more specific than the error of the order.
async fn order_error(order: &mut Order, problem_of_order: Option<Problem>) -> Error {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        if authorization.refresh().await.is_err() {
            continue;
        }
        let name = authorization.identifier().to_string();
        let mut challenges = authorization.challenges.iter();
        if let Some(problem) = challenges.find_map(|challenge| challenge.error.as_ref()) {
            return Error::Other(
                format!("{name} was not accepted: {}", describe_problem(problem)).into(),
            );
        }
    }
    problem_of_order.map_or_else(
        || Error::Other("the certificate authority has refused the order without a reason".into()),
        Error::Api,
    )
}

/// Describes the error of an order as a text for the log.
fn describe_error(error: Error) -> String {
    match error {
        Error::Api(problem) => format!(
            "the certificate authority refuses: {}",
            describe_problem(&problem)
        ),
        Error::Json(error) => {
            format!("the certificate authority answers something else than ACME: {error}")
        }
        Error::Timeout(_) => "the certificate authority did not complete the order in time".into(),
        error => error.to_string(),
    }
}

/// Describes a problem: its details, the problems of host names, and its type.
fn describe_problem(problem: &Problem) -> String {
    let details = problem.detail.iter().cloned();
    let subproblems = problem.subproblems.iter().map(ToString::to_string);
    let kind = problem.r#type.iter().map(|kind| format!("({kind})"));
    details
        .chain(subproblems)
        .chain(kind)
        .collect::<Vec<_>>()
        .join(" ")
}

//! The translator: a LibreTranslate-compatible `POST /translate` (contract: Commands, Translations).

use std::time::Duration;

use engine::error::innermost;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde::{Deserialize, Serialize};

use super::ENGLISH;

/// How long a translation may take in all, from the connection to the last byte of the answer.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// 1 MiB: the greatest answer that is read.
const ANSWER_LIMIT: usize = 1 << 20;
/// How the service introduces itself to the translator.
const USER_AGENT: &str = "Vestibule-Translations/1";

/// A translator out there.
pub(super) struct Provider {
    client: Client,
    endpoint: String,
    key: Option<String>,
}

/// What is sent.
#[derive(Serialize)]
struct Request<'r> {
    q: &'r str,
    source: &'r str,
    target: &'r str,
    format: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'r str>,
}

/// What of the answer is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Translated {
    translated_text: String,
}

/// Why there is no translation, for the log: neither the text nor the key is in it.
#[derive(Debug)]
pub(super) struct Failure {
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// What was wrong.
    pub cause: String,
}

impl Provider {
    /// The translator at a base address without a slash at its end.
    pub(super) fn new(url: &str, key: Option<String>) -> Result<Self, String> {
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .no_proxy()
            // Attempts are counted; none is made behind the count.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| format!("texts cannot be translated: {}", innermost(&error)))?;
        Ok(Self { client, endpoint: format!("{url}/translate"), key: key.filter(|key| !key.is_empty()) })
    }

    /// An English text in another language.
    pub(super) async fn translate(&self, text: &str, language: &str) -> Result<String, Failure> {
        let request = Request { q: text, source: ENGLISH, target: language, format: "text", api_key: self.key.as_deref() };
        let response = self.client.post(&self.endpoint).json(&request).send().await.map_err(|error| Failure::of(None, error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(Failure::new(status.as_u16(), "refused"));
        }
        let body = read(response).await?;
        let Ok(Translated { translated_text }) = serde_json::from_slice(&body) else {
            return Err(Failure::new(status.as_u16(), "the answer does not read"));
        };
        // PostgreSQL stores no U+0000, and guests are shown no blank.
        if translated_text.trim().is_empty() || translated_text.contains('\0') {
            return Err(Failure::new(status.as_u16(), "the answer is no text"));
        }
        Ok(translated_text)
    }
}

impl Failure {
    fn new(status: u16, cause: &str) -> Self {
        Self { status: Some(status), cause: cause.to_owned() }
    }

    fn of(status: Option<u16>, error: reqwest::Error) -> Self {
        // A URL may hold a password.
        let error = error.without_url();
        let cause = if error.is_timeout() { "timed out".to_owned() } else { innermost(&error).to_string() };
        Self { status, cause }
    }
}

/// The body of an answer, as far as it may go.
async fn read(mut response: Response) -> Result<Vec<u8>, Failure> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Failure::of(Some(status), error))? {
        if body.len() + chunk.len() > ANSWER_LIMIT {
            return Err(Failure::new(status, "the answer is too large"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_sent_where_there_is_one() {
        let request =
            |api_key| serde_json::to_value(Request { q: "Hello", source: ENGLISH, target: "es", format: "text", api_key }).unwrap();
        let without = json!({ "q": "Hello", "source": "en", "target": "es", "format": "text" });
        assert_eq!(request(None), without);
        let mut with = without;
        with["api_key"] = json!("secret");
        assert_eq!(request(Some("secret")), with);
    }
}

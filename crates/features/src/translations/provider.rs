//! The client of the translation service, which has the interface of `LibreTranslate`, `POST
//! /translate` (rules: translations#machine-translation).

use std::time::Duration;

use engine::error::innermost;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde::{Deserialize, Serialize};

use super::ENGLISH;
use super::placeholders::{NumberedText, TextPiece, pieces};

/// Deadline of a translation, from the connection to the last byte of the response.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// The service's user agent in requests to the translator.
const USER_AGENT: &str = "Vestibule-Translations/1";

/// A client of the translation service.
pub(super) struct TranslationClient {
    client: Client,
    endpoint: String,
    key: Option<String>,
}

/// The body of a request to the translation service.
#[derive(Serialize)]
struct Request<'r> {
    q: &'r str,
    source: &'r str,
    target: &'r str,
    format: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<&'r str>,
}

/// The fields of the translation service's response that this client reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TranslationResponse {
    translated_text: String,
}

/// The cause of a failed translation, for the log. It contains neither the guest-facing text nor
/// the key for the provider's API.
#[derive(Debug)]
pub(super) struct TranslationFailure {
    /// The status of the response; `None` if there was no response.
    pub status: Option<u16>,
    pub cause: String,
}

impl TranslationClient {
    /// Creates a client for the translation service at a base address that does not end with a
    /// slash.
    pub(super) fn new(url: &str, key: Option<String>) -> Result<Self, String> {
        let client = Client::builder()
            .user_agent(USER_AGENT)
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .no_proxy()
            // The queue counts the attempts, so the client must not retry by itself.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| {
                format!(
                    "cannot create the client of --translator-url: {}",
                    innermost(&error)
                )
            })?;
        Ok(Self {
            client,
            endpoint: format!("{url}/translate"),
            key: key.filter(|key| !key.is_empty()),
        })
    }

    /// Translates an English text into another language. Placeholders do not change (rules:
    /// translations#placeholders).
    pub(super) async fn translate(
        &self,
        text: &str,
        language: &str,
    ) -> Result<String, TranslationFailure> {
        let Some(numbered) = NumberedText::of(text) else {
            return self.request(text, language).await;
        };
        let with_placeholders = async {
            let translated = self.request(&numbered.text, language).await?;
            match numbered.restore_placeholders(&translated) {
                Some(restored) => Ok(restored),
                None => self.translate_pieces(text, language).await,
            }
        };
        tokio::time::timeout(DEADLINE, with_placeholders)
            .await
            .unwrap_or_else(|_| Err(TranslationFailure::timed_out()))
    }

    /// Translates the parts of a text between its placeholders one after another. Used if the
    /// translator changes or drops the numbers in braces that stand for the placeholders. The
    /// result reads less well, because the translator does not see whole sentences.
    async fn translate_pieces(
        &self,
        text: &str,
        language: &str,
    ) -> Result<String, TranslationFailure> {
        let mut translated = String::new();
        for piece in pieces(text) {
            match piece {
                TextPiece::Named { whole, .. } => translated.push_str(whole),
                TextPiece::Text(part) if part.chars().any(char::is_alphabetic) => {
                    let words = part.trim();
                    let start = part.len() - part.trim_start().len();
                    translated.push_str(&part[..start]);
                    translated.push_str(self.request(words, language).await?.trim());
                    translated.push_str(&part[start + words.len()..]);
                }
                TextPiece::Text(part) => translated.push_str(part),
            }
        }
        Ok(translated)
    }

    /// Sends a text to the translation service. Returns the translation into `language`.
    async fn request(&self, text: &str, language: &str) -> Result<String, TranslationFailure> {
        let request = Request {
            q: text,
            source: ENGLISH,
            target: language,
            format: "text",
            api_key: self.key.as_deref(),
        };
        let response = self
            .client
            .post(&self.endpoint)
            .json(&request)
            .send()
            .await
            .map_err(|error| TranslationFailure::of(None, error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(TranslationFailure::new(status.as_u16(), "refused"));
        }
        let body = read(response).await?;
        let Ok(TranslationResponse { translated_text }) = serde_json::from_slice(&body) else {
            return Err(TranslationFailure::new(
                status.as_u16(),
                "the answer cannot be parsed",
            ));
        };
        // PostgreSQL cannot store U+0000, and guests must not see a blank text.
        if engine::typed::is_blank(&translated_text) || translated_text.contains('\0') {
            return Err(TranslationFailure::new(
                status.as_u16(),
                "the translation is blank or contains U+0000",
            ));
        }
        Ok(translated_text)
    }
}

impl TranslationFailure {
    fn new(status: u16, cause: &str) -> Self {
        Self {
            status: Some(status),
            cause: cause.to_owned(),
        }
    }

    fn timed_out() -> Self {
        Self {
            status: None,
            cause: "timed out".to_owned(),
        }
    }

    fn of(status: Option<u16>, error: reqwest::Error) -> Self {
        // The URL is removed, because it may contain a password.
        let error = error.without_url();
        let cause = if error.is_timeout() {
            "timed out".to_owned()
        } else {
            innermost(&error).to_string()
        };
        Self { status, cause }
    }
}

/// Reads the body of a response, up to [`MAX_RESPONSE_BYTES`].
async fn read(mut response: Response) -> Result<Vec<u8>, TranslationFailure> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| TranslationFailure::of(Some(status), error))?
    {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(TranslationFailure::new(status, "the answer is too large"));
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
    fn an_api_key_is_sent_if_configured() {
        let request = |api_key| {
            serde_json::to_value(Request {
                q: "Hello",
                source: ENGLISH,
                target: "es",
                format: "text",
                api_key,
            })
            .unwrap()
        };
        let without = json!({ "q": "Hello", "source": "en", "target": "es", "format": "text" });
        assert_eq!(request(None), without);
        let mut with = without;
        with["api_key"] = json!("secret");
        assert_eq!(request(Some("secret")), with);
    }
}

//! Builds the addresses of the stay's pages, in the requested language.

use uuid::Uuid;

use features::records::SurveyKind;

/// The addresses of the stay's pages. The query of each address has the requested language and, in
/// a preview, the preview's time.
#[derive(Debug, Clone)]
pub struct StayLinks {
    /// The path of the stay's page, without a query.
    page: String,
    language: Option<String>,
    /// The time for which a preview shows the stay; `None` outside a preview. The query of each
    /// address contains this time, so that every page of the preview shows the same time.
    time: Option<String>,
}

impl StayLinks {
    /// Creates the addresses of the pages of a stay. All are below the path `page`, and have
    /// `language`, if it is set, in their query.
    #[must_use]
    pub const fn new(page: String, language: Option<String>) -> Self {
        Self {
            page,
            language,
            time: None,
        }
    }

    /// Returns the same addresses, but with `time` in the query of each. A preview then shows the
    /// page as guests see it at this time.
    #[must_use]
    pub fn at_time(self, time: String) -> Self {
        Self {
            time: Some(time),
            ..self
        }
    }

    #[must_use]
    pub fn path(&self) -> &str {
        &self.page
    }

    /// Returns the language in the query of the requested URL; `None` if the query names none.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// Returns the address of the entry page.
    #[must_use]
    pub fn home(&self) -> String {
        self.at("", &[])
    }

    /// Returns the address of the entry page that is shown right after the guest submitted the
    /// pre-check-in.
    #[must_use]
    pub fn home_submitted(&self) -> String {
        self.at("", &[("handedIn", "true")])
    }

    /// Returns the address of the entry page in the language `language`, whatever language these
    /// links have.
    #[must_use]
    pub fn home_in(&self, language: &str) -> String {
        Self {
            language: Some(language.to_owned()),
            ..self.clone()
        }
        .home()
    }

    /// Returns the address of a step's page. The form of the step is sent to the same address.
    #[must_use]
    pub fn step(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}"), &[])
    }

    /// Returns the address of a step's page. On this page, missing answers are marked.
    #[must_use]
    pub fn step_with_missing_marked(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}"), &[("lacking", "true")])
    }

    /// Returns the path of a step's page, with a query parameter that gives the form fields for
    /// `guests` guests besides the guest who booked.
    #[must_use]
    pub fn step_with_guests(&self, step: Uuid, guests: usize) -> String {
        self.at(
            &format!("/steps/{step}"),
            &[("guests", &guests.to_string())],
        )
    }

    /// Returns the address to which files of a step are uploaded.
    #[must_use]
    pub fn files(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}/files"), &[])
    }

    /// Returns the URL at which the guest views a file that was uploaded in a step.
    #[must_use]
    pub fn file(&self, step: Uuid, file: Uuid) -> String {
        format!("{}/steps/{step}/files/{file}", self.page)
    }

    /// Returns the URL to which the guest sends the form that removes an uploaded file.
    #[must_use]
    pub fn remove(&self, step: Uuid, file: Uuid) -> String {
        self.at(&format!("/steps/{step}/files/{file}/remove"), &[])
    }

    /// Returns the address of the page on which the guest reviews the answers before submission.
    #[must_use]
    pub fn review(&self) -> String {
        self.at("/review", &[])
    }

    /// Returns the address to which the browser sends the form that submits the pre-check-in.
    #[must_use]
    pub fn submit(&self) -> String {
        self.at("/submit", &[])
    }

    /// Returns the address of the messages page. A new message is sent to the same address.
    #[must_use]
    pub fn messages(&self) -> String {
        self.at("/messages", &[])
    }

    /// Returns the address of the issues page. A new issue is sent to the same address.
    #[must_use]
    pub fn issue(&self) -> String {
        self.at("/issues", &[])
    }

    /// Returns the address of the issues page that is shown right after the guest reported an
    /// issue.
    #[must_use]
    pub fn issue_sent(&self) -> String {
        self.at("/issues", &[("sent", "true")])
    }

    /// Returns the address of a survey's page. The answers to the survey are sent to the same
    /// address.
    #[must_use]
    pub fn survey(&self, kind: SurveyKind) -> String {
        self.at(&format!("/reviews/{}", kind.as_ref()), &[])
    }

    /// Returns the address of the page that thanks the guest for answering a survey.
    #[must_use]
    pub fn survey_sent(&self, kind: SurveyKind) -> String {
        self.at(&format!("/reviews/{}", kind.as_ref()), &[("sent", "true")])
    }

    /// Returns the address of the extras page. The selection is sent to the same address.
    #[must_use]
    pub fn extras(&self) -> String {
        self.at("/extras", &[])
    }

    /// Returns the address of the extras page that is shown right after the guest saved the
    /// selection. `is_request` is true if the guest also requested the extras from the host.
    #[must_use]
    pub fn extras_sent(&self, is_request: bool) -> String {
        let sent = if is_request { "requested" } else { "kept" };
        self.at("/extras", &[("sent", sent)])
    }

    /// Returns the address of a single manual.
    #[must_use]
    pub fn manual(&self, manual: Uuid) -> String {
        self.at(&format!("/manuals/{manual}"), &[])
    }

    /// Returns the address of the stay's calendar file.
    #[must_use]
    pub fn calendar(&self) -> String {
        self.at("/stay.ics", &[])
    }

    /// Returns the address of the stay's wallet pass.
    #[must_use]
    pub fn pass(&self) -> String {
        self.at("/stay.pkpass", &[])
    }

    /// Returns the address of the web manifest.
    #[must_use]
    pub fn manifest(&self) -> String {
        self.at("/manifest.webmanifest", &[])
    }

    /// Returns the path of the script of the service worker.
    #[must_use]
    pub fn worker(&self) -> String {
        format!("{}/worker.js", self.page)
    }

    fn at(&self, rest: &str, more: &[(&str, &str)]) -> String {
        let language = self
            .language
            .iter()
            .map(|language| ("language", language.as_str()));
        let time = self.time.iter().map(|time| ("at", time.as_str()));
        let pairs: Vec<(&str, &str)> = language.chain(time).chain(more.iter().copied()).collect();
        format!("{}{rest}{}", self.page, query(&pairs))
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    format!(
        "?{}",
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_the_requested_language() {
        let (id, page) = (Uuid::from_u128(1), "/guests/stay/abc".to_owned());
        let plain = StayLinks::new(page.clone(), None);
        assert_eq!(plain.home(), "/guests/stay/abc");
        assert_eq!(
            plain.step_with_missing_marked(id),
            format!("/guests/stay/abc/steps/{id}?lacking=true")
        );
        let spanish = StayLinks::new(page, Some("pt-BR".into()));
        assert_eq!(
            spanish.step_with_guests(id, 2),
            format!("/guests/stay/abc/steps/{id}?language=pt-BR&guests=2")
        );
        assert_eq!(spanish.submit(), "/guests/stay/abc/submit?language=pt-BR");
        assert_eq!(spanish.worker(), "/guests/stay/abc/worker.js");
        assert_eq!(spanish.home_in("fr"), "/guests/stay/abc?language=fr");
        let later = spanish.at_time("2026-11-23T15:00".into());
        assert_eq!(
            later.home_in("fr"),
            "/guests/stay/abc?language=fr&at=2026-11-23T15%3A00"
        );
    }
}
